package assigned

// Inside names what a payload with a number of Names carries in its turn, as far as
// a glance tells; several names have spaces between them. Empty: nothing.
func Inside(n int, b []byte) string {
	table := tcp[:]
	if n >= len(tcp) {
		n, table = n-len(tcp), udp[:]
	}
	if n < 0 || n >= len(table) {
		return ""
	}
	at := func(i int) byte {
		if i < len(b) {
			return b[i]
		}
		return 0
	}
	switch table[n].check {
	case bvlc:
		return insideBVLC(at)
	case gtp:
		if at(0)>>5 == 2 {
			return "gtpv2"
		}
	case openflow:
		return openflowOf(at(0))
	case tpkt:
		const dataUnit, s7 = 0xf0, 0x32
		if at(5) == dataUnit && at(7) == s7 {
			return "s7comm"
		}
	case json:
		if at(0) == '{' {
			return "json"
		}
	case sap:
		if at(8) == 'v' && at(9) == '=' || at(8) == 'a' && at(24) == 'v' {
			return "sdp"
		}
	case text:
		if isText(b) {
			return textLines
		}
	case capwap:
		if at(0)&0x0f == 1 {
			return "dtls"
		}
	default:
	}
	return ""
}

// textLines is what Wireshark calls text of which it knows no more.
const textLines = "data-text-lines"

// isText reports whether b is ASCII that can be printed, and ends of lines.
func isText(b []byte) bool {
	for _, c := range b {
		if (c < ' ' || c > '~') && c != '\t' && c != '\r' && c != '\n' {
			return false
		}
	}
	return len(b) > 0
}

// insideBVLC looks for a network message behind the header (ASHRAE 135, J.2 and 6.2).
func insideBVLC(at func(int) byte) string {
	const forwarded, unicast, broadcast, network = 4, 10, 11, 0x80
	npdu := 4
	switch at(1) {
	case forwarded:
		npdu = 10
	case unicast, broadcast:
	default:
		return ""
	}
	if at(npdu+1)&network != 0 {
		return "bacnet"
	}
	return "bacnet bacapp"
}

// openflowOf names a version of OpenFlow.
func openflowOf(version byte) string {
	switch version {
	case 1:
		return "openflow_v1"
	case 4:
		return "openflow_v4"
	case 5:
		return "openflow_v5"
	case 6:
		return "openflow_v6"
	}
	return ""
}

// InsideNames are all that Inside can answer.
func InsideNames() []string {
	return []string{
		"bacnet", "bacapp", "gtpv2", "openflow_v1", "openflow_v4", "openflow_v5", "openflow_v6", "s7comm",
		"json", "sdp", "dtls", textLines,
	}
}
