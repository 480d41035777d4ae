package assigned

// RTCP is what Wireshark takes many datagrams between ports that tell nothing for.
const RTCP = "rtcp"

// LooksRTCP reports whether a datagram is taken for RTCP: version 2, one of some types and
// whole words (RFC 3550, 6.1), whatever its lengths say. Descriptions and transport feedback never come
// first in what Wireshark believes in.
func LooksRTCP(b []byte) bool {
	const version, word = 2, 4
	if len(b) < word || len(b)%word != 0 || b[0]>>6 != version {
		return false
	}
	switch b[1] {
	case 200, 201, 203, 204, 206: // reports, BYE, APP, feedback for payloads (RFC 4585, 6.1)
		return true
	}
	return false
}
