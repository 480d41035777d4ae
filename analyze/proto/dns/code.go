package dns

import "encoding/binary"

// flagsEnd is where the flags of a message end: tshark shows the code of one that the
// snaplen has cut behind them.
const flagsEnd = 4

// OnPort reports whether one of a datagram's ports makes tshark read it as DNS,
// whatever it is.
func OnPort(a, b uint16) bool {
	return a == portDNS || b == portDNS || a == portMDNS || b == portMDNS || a == portLLMNR || b == portLLMNR
}

// OnStreamPort does so for a stream.
func OnStreamPort(a, b uint16) bool {
	return a == portDNS || b == portDNS || a == portMDNS || b == portMDNS
}

// Reads reports whether the analyzer of a protocol counts the codes of datagrams
// that are no shorter than a header.
func Reads(protocol string, n int) bool {
	return n >= headerLen && (protocol == nameDNS || protocol == nameMDNS || protocol == nameLLMNR)
}

// Code is the code of the answer that begins with b, as tshark counts it.
func Code(b []byte) (key string, ok bool) {
	if len(b) < flagsEnd || b[2]&0x80 == 0 {
		return "", false
	}
	return rcodeKey(uint16(b[3] & 15)), true
}

// CodesOfCut tells the codes of the answers in a segment which the snaplen has cut.
// tshark waits for no rest then, nor does it join what came before: it reads lengths
// and messages from the first byte on.
func CodesOfCut(b []byte, tell func(key string)) {
	for len(b) > 2 {
		n := int(binary.BigEndian.Uint16(b))
		b = b[2:]
		if key, ok := Code(b[:min(n, len(b))]); ok {
			tell(key)
		}
		if n == 0 {
			return
		}
		b = b[min(n, len(b)):]
	}
}

// guessed reports whether tshark takes an answer at a foreign port for DNS: a plain
// one to at most one question, with a number of records that it finds likely.
func (m *message) guessed() bool {
	const answers, others = 100, 10
	return m.opcode() == opQuery && m.qd <= 1 && m.an <= answers && m.ns <= others && m.ar <= others
}

// Guessed reports whether tshark takes b, the beginning of an answer, for DNS at
// whatever port.
func Guessed(b []byte) bool {
	if len(b) <= headerLen {
		return false
	}
	var m message
	m.walk(b, nil)
	return m.guessed()
}
