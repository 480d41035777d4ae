package assigned

import "encoding/binary"

// JXTA is what Wireshark takes the beginning of many cut segments for.
const JXTA = "jxta"

// LooksJXTA reports whether b, the captured part of a longer segment between ports that
// tell nothing, is such a beginning. A message of JXTA (Protocols Specification 2.0,
// HTTP and TCP message transport) begins with headers: a length of one byte and a name, a length of
// two bytes and a value. Wireshark believes in it when the capture ends where it looks
// for the length of a value, and no sooner; of whole segments it is sure.
func LooksJXTA(b []byte) bool {
	const valueLen = 2
	for len(b) > 0 {
		name := 1 + int(b[0])
		switch {
		case b[0] == 0 || name > len(b):
			return false
		case name+valueLen > len(b):
			return true
		}
		value := int(binary.BigEndian.Uint16(b[name:]))
		if value == 0 || name+valueLen+value > len(b) {
			return false
		}
		b = b[name+valueLen+value:]
	}
	return false
}
