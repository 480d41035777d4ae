package dns

import (
	"encoding/binary"
	"net/netip"
)

// Bounds of RFC 1035, 2.3.4, and our own.
const (
	headerLen   = 12
	maxName     = 255 // octets of a name on the wire
	maxLabelLen = 63
	minRR       = 11 // root name, type, class, TTL, length
)

// Types of resource records that the analyzer tells apart.
const (
	typeA     = 1
	typeNS    = 2
	typeCNAME = 5
	typeSOA   = 6
	typePTR   = 12
	typeMX    = 15
	typeTXT   = 16
	typeAAAA  = 28
	typeSRV   = 33
	typeDNAME = 39
	typeOPT   = 41
	typeSVCB  = 64
	typeHTTPS = 65
)

// Opcodes (RFC 1035, 1996, 2136, 8490).
const (
	opQuery  = 0
	opNotify = 4
	opUpdate = 5
	opDSO    = 6
)

// Codes of answers (RFC 1035, 4.1.1; RFC 2136; RFC 6891).
const (
	rcodeOK       = 0
	rcodeFormErr  = 1
	rcodeServFail = 2
	rcodeNXDomain = 3
	rcodeNotImp   = 4
	rcodeRefused  = 5
)

// fault is why a message could not be read to its end; empty: it could.
type fault string

const (
	faultShort    fault = "message shorter than its header"
	faultName     fault = "name runs past the end of the message"
	faultPointer  fault = "compression pointer loops or points forward"
	faultLabel    fault = "label of a reserved kind"
	faultNameLong fault = "name longer than 255 bytes"
	faultRecord   fault = "record runs past the end of the message"
	faultRData    fault = "record data does not fit its type"
)

// message is one DNS message, walked. It keeps nothing of the bytes walked.
type message struct {
	id        uint16
	flags     uint16
	qd        uint16
	an        uint16
	ns        uint16
	ar        uint16
	rcode     uint16 // with the EDNS extension (RFC 6891, 6.1.3)
	qtype     uint16
	qclass    uint16
	questions int    // questions read
	answers   int    // answer records read
	digest    uint64 // of type and data of the answers, whatever their order
	bad       fault  // empty: every record could be read
	rest      int    // bytes behind the last record
}

// texts is what is read of a message besides: the first question, dotted, in lower
// case, and addresses of the answers. Lengths and no slices: what points into itself
// would be moved to the heap.
type texts struct {
	nameBuf [maxText]byte
	nameLen int
	addrBuf [MaxAddrs]netip.Addr
	addrs   int
}

// maxText bounds a name as text: every byte of a name may need an escape.
const maxText = 2 * maxName

func (t *texts) name() []byte { return t.nameBuf[:t.nameLen] }

// reading is a message with its texts.
type reading struct {
	message
	texts
}

// read walks b and keeps the texts. It allocates nothing.
func (r *reading) read(b []byte) {
	r.nameLen, r.addrs = 0, 0
	r.walk(b, &r.texts)
}

func (m *message) response() bool  { return m.flags&0x8000 != 0 }
func (m *message) opcode() uint16  { return m.flags >> 11 & 15 }
func (m *message) truncated() bool { return m.flags&0x0200 != 0 }

// walk goes through b and reads what can be read: bad says where it had to stop.
// Texts go to t, if it is not nil.
func (m *message) walk(b []byte, t *texts) {
	m.bad, m.rest, m.questions, m.answers = "", 0, 0, 0
	m.digest = 0
	m.qtype, m.qclass = 0, 0
	if len(b) < headerLen {
		m.id, m.flags, m.rcode, m.qd, m.an, m.ns, m.ar = 0, 0, 0, 0, 0, 0, 0
		m.bad = faultShort
		return
	}
	m.id, m.flags = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	m.qd, m.an = binary.BigEndian.Uint16(b[4:]), binary.BigEndian.Uint16(b[6:])
	m.ns, m.ar = binary.BigEndian.Uint16(b[8:]), binary.BigEndian.Uint16(b[10:])
	m.rcode = m.flags & 15
	off := headerLen
	for i := range int(m.qd) {
		if off = m.question(b, off, i == 0, t); m.bad != "" {
			return
		}
	}
	for section, n := range [3]uint16{m.an, m.ns, m.ar} {
		for range int(n) {
			if off = m.record(b, off, section, t); m.bad != "" {
				return
			}
		}
	}
	m.rest = len(b) - off
}

func (m *message) question(b []byte, off int, first bool, t *texts) int {
	var n int
	if first {
		n, m.bad = firstName(b, off, t)
	} else {
		n, m.bad = skipName(b, off)
	}
	if m.bad != "" {
		return off
	}
	if len(b)-n < 4 {
		m.bad = faultRecord
		return off
	}
	if first {
		m.qtype, m.qclass = binary.BigEndian.Uint16(b[n:]), binary.BigEndian.Uint16(b[n+2:])
	}
	m.questions++
	return n + 4
}

func (m *message) record(b []byte, off, section int, t *texts) int {
	n, bad := skipName(b, off)
	if bad != "" {
		m.bad = bad
		return off
	}
	if len(b)-n < minRR-1 {
		m.bad = faultRecord
		return off
	}
	typ, ttl := binary.BigEndian.Uint16(b[n:]), binary.BigEndian.Uint32(b[n+4:])
	size := int(binary.BigEndian.Uint16(b[n+8:]))
	data := n + 10
	if size > len(b)-data {
		m.bad = faultRecord
		return off
	}
	if typ == typeOPT {
		if m.response() {
			m.rcode = m.flags&15 | uint16(ttl>>24)<<4
		}
		return data + size
	}
	if m.opcode() == opUpdate { // prerequisites and deletions carry empty data (RFC 2136, 2.4)
		return data + size
	}
	if !dataFits(b, data, size, typ) {
		m.bad = faultRData
		return off
	}
	if section == 0 {
		m.answer(b[data:data+size], typ, t)
	}
	return data + size
}

// answer takes one record of the answer section into account.
func (m *message) answer(data []byte, typ uint16, t *texts) {
	m.answers++
	if t == nil {
		return
	}
	switch typ {
	case typeA, typeAAAA:
		if a, ok := netip.AddrFromSlice(data); ok && t.addrs < len(t.addrBuf) {
			t.addrBuf[t.addrs] = a
			t.addrs++
		}
	case typeCNAME, typeDNAME, typeNS, typePTR, typeMX, typeSOA, typeSRV:
		return // names may be compressed differently: equal answers would differ
	}
	// FNV-1a, added up: servers rotate the order of records.
	h := uint64(14695981039346656037) ^ uint64(typ)
	for _, c := range data {
		h = (h ^ uint64(c)) * 1099511628211
	}
	m.digest += h
}

// dataFits checks the data of common types against their format.
func dataFits(b []byte, off, size int, typ uint16) bool {
	end := off + size
	switch typ {
	case typeA:
		return size == 4
	case typeAAAA:
		return size == 16
	case typeNS, typeCNAME, typePTR, typeDNAME:
		return nameFills(b, off, end)
	case typeMX:
		return size > 2 && nameFills(b, off+2, end)
	case typeSRV:
		return size > 6 && nameFills(b, off+6, end)
	case typeSOA:
		n, bad := skipName(b, off)
		if bad != "" {
			return false
		}
		n, bad = skipName(b, n)
		return bad == "" && n+20 == end
	case typeTXT:
		for off < end {
			off += 1 + int(b[off])
		}
		return off == end
	case typeSVCB, typeHTTPS:
		if size < 3 {
			return false
		}
		n, bad := skipName(b, off+2)
		return bad == "" && n <= end
	}
	return true
}

func nameFills(b []byte, off, end int) bool {
	n, bad := skipName(b, off)
	return bad == "" && n == end
}

// skipName returns the offset behind the name at off. Pointers are checked for
// direction but not followed.
func skipName(b []byte, off int) (int, fault) {
	start := off
	for {
		if off >= len(b) {
			return off, faultName
		}
		c := int(b[off])
		switch {
		case c == 0:
			return off + 1, ""
		case c <= maxLabelLen:
			off += 1 + c
		case c >= 0xc0:
			if off+2 > len(b) {
				return off, faultName
			}
			if p := (c&0x3f)<<8 | int(b[off+1]); p >= off || p < headerLen {
				return off, faultPointer
			}
			return off + 2, ""
		default: // 01: extended labels, withdrawn by RFC 6891; 10: never assigned
			return off, faultLabel
		}
		if off-start > maxName {
			return off, faultNameLong
		}
	}
}

// firstName reads the name at off, where no name stands before, and returns the
// offset behind it: a pointer could only lead to itself or into the header. Dotted
// and in lower case it goes to t, if that is not nil. Bytes of labels stay as they are; a
// dot or backslash inside a label is escaped (RFC 1035, 5.1). The root is ".".
func firstName(b []byte, off int, t *texts) (next int, bad fault) {
	start, n := off, 0
	for {
		if off >= len(b) {
			return off, faultName
		}
		c := int(b[off])
		switch {
		case c == 0:
			if t != nil {
				if off == start {
					t.nameBuf[0], n = '.', 1
				}
				t.nameLen = n
			}
			return off + 1, ""
		case c > maxLabelLen && c < 0xc0:
			return off, faultLabel
		case c >= 0xc0 && off+2 > len(b):
			return off, faultName
		case c >= 0xc0:
			return off, faultPointer
		}
		end := off + 1 + c
		if end-start > maxName {
			return off, faultNameLong
		}
		if end > len(b) {
			return off, faultName
		}
		if t != nil {
			if n > 0 {
				t.nameBuf[n] = '.'
				n++
			}
			n += copyLabel(t.nameBuf[n:], b[off+1:end])
		}
		off = end
	}
}

// copyLabel writes a label to dst, which has room for twice as much.
func copyLabel(dst, label []byte) (n int) {
	for _, c := range label {
		switch {
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		case c == '.' || c == '\\':
			dst[n] = '\\'
			n++
		}
		dst[n] = c
		n++
	}
	return n
}
