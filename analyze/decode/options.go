package decode

import "encoding/binary"

// TCP option kinds (IANA, TCP parameters).
const (
	OptEnd           = 0
	OptNop           = 1
	OptMSS           = 2  // RFC 9293, 3.7.1
	OptWindowScale   = 3  // RFC 7323, 2
	OptSACKPermitted = 4  // RFC 2018, 2
	OptSACK          = 5  // RFC 2018, 3
	OptTimestamps    = 8  // RFC 7323, 3
	OptMD5           = 19 // RFC 2385
	OptMPTCP         = 30 // RFC 8684
	OptFastOpen      = 34 // RFC 7413
)

// maxSACKBlocks is what fits into 40 bytes of options.
const maxSACKBlocks = 4

// SACKBlock is a range of bytes received, [Left, Right).
type SACKBlock struct{ Left, Right uint32 }

// TCPOptions are the options of one segment that the analysis uses.
type TCPOptions struct {
	HasMSS, HasWindowScale, SACKPermitted, HasTimestamps bool
	MPTCP, FastOpen                                      bool
	Malformed                                            bool // the list broke off; what came before is right
	WindowScale                                          uint8
	NSACK                                                uint8
	MSS                                                  uint16
	TSVal, TSEcr                                         uint32
	SACK                                                 [maxSACKBlocks]SACKBlock
}

// Blocks returns the SACK blocks in the order of the option.
func (o *TCPOptions) Blocks() []SACKBlock { return o.SACK[:o.NSACK] }

// Options returns the captured bytes of a segment's TCP options.
func (p *Packet) Options(data []byte) []byte {
	from, to := int(p.L4)+tcpMinHeader, min(int(p.Payload), len(data))
	if p.Kind != KindTCP || from >= to {
		return nil
	}
	return data[from:to:to]
}

// stampOnly is what the options begin with that are a timestamp and nothing else, as
// those of most segments are (RFC 7323, appendix A).
const stampOnly = OptNop<<24 | OptNop<<16 | OptTimestamps<<8 | 10

// options reads what nearly every segment is asked for while its header is at hand.
func (p *Packet) options(b []byte, header int) {
	var o []byte
	if from := header + tcpMinHeader; from < int(p.Payload) {
		o = b[from:p.Payload]
	}
	if len(o) == 12 && binary.BigEndian.Uint32(o) == stampOnly {
		p.Stamped = true
		p.TSVal, p.TSEcr = binary.BigEndian.Uint32(o[4:]), binary.BigEndian.Uint32(o[8:])
	}
	p.Head = HeadOf(b[p.Payload:])
}

// HeadOf returns the first eight bytes of a payload, the first one lowest; what it does
// not have is 0.
func HeadOf(payload []byte) uint64 {
	if len(payload) >= 8 {
		return binary.LittleEndian.Uint64(payload)
	}
	var h uint64
	for i, x := range payload {
		h |= uint64(x) << (8 * i)
	}
	return h
}

// ParseOptions reads the options of a TCP header. It reads at most 40 bytes.
func ParseOptions(b []byte, o *TCPOptions) {
	*o = TCPOptions{}
	b = b[:min(len(b), 40)]
	// The one layout that nearly every segment of a Linux or BSD host has.
	if len(b) == 12 && b[0] == OptNop && b[1] == OptNop && b[2] == OptTimestamps && b[3] == 10 {
		o.HasTimestamps = true
		o.TSVal, o.TSEcr = binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
		return
	}
	for len(b) > 0 {
		kind := b[0]
		if kind == OptEnd {
			return
		}
		if kind == OptNop {
			b = b[1:]
			continue
		}
		if len(b) < 2 || b[1] < 2 || int(b[1]) > len(b) {
			o.Malformed = true
			return
		}
		o.option(kind, b[2:b[1]])
		b = b[b[1]:]
	}
}

func (o *TCPOptions) option(kind byte, v []byte) {
	switch kind {
	case OptMSS:
		if len(v) == 2 {
			o.HasMSS, o.MSS = true, binary.BigEndian.Uint16(v)
		}
	case OptWindowScale:
		if len(v) == 1 {
			o.HasWindowScale, o.WindowScale = true, v[0]
		}
	case OptSACKPermitted:
		o.SACKPermitted = len(v) == 0
	case OptSACK:
		for len(v) >= 8 && o.NSACK < maxSACKBlocks {
			o.SACK[o.NSACK] = SACKBlock{binary.BigEndian.Uint32(v), binary.BigEndian.Uint32(v[4:])}
			o.NSACK++
			v = v[8:]
		}
	case OptTimestamps:
		if len(v) == 8 {
			o.HasTimestamps = true
			o.TSVal, o.TSEcr = binary.BigEndian.Uint32(v), binary.BigEndian.Uint32(v[4:])
		}
	case OptMPTCP:
		o.MPTCP = true
	case OptFastOpen:
		o.FastOpen = true
	}
}
