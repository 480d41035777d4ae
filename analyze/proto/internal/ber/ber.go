// Package ber reads the Basic Encoding Rules of ASN.1 (X.690) as far as SNMP,
// LDAP and Kerberos use them: definite lengths, short tags.
package ber

// Value is one element.
type Value struct {
	Tag  byte
	Body []byte // what is there of it
	Len  int    // length of the body as announced
	Size int    // of the whole element
}

// Tags.
const (
	Integer     = 0x02
	OctetString = 0x04
	Enumerated  = 0x0a
	Sequence    = 0x30
)

// maxLen bounds the lengths that are believed.
const maxLen = 1 << 28

// Head reads tag and length of the element that b begins with. more tells that
// bytes are missing to tell, ok that it is one.
func Head(b []byte) (v Value, more, ok bool) {
	if len(b) < 2 {
		return v, true, false
	}
	if b[0]&0x1f == 0x1f {
		return v, false, false
	}
	n, at := int(b[1]), 2
	if n >= 0x80 {
		digits := n & 0x7f
		if digits == 0 || digits > 4 {
			return v, false, false
		}
		if len(b) < 2+digits {
			return v, true, false
		}
		n = 0
		for _, c := range b[2 : 2+digits] {
			n = n<<8 | int(c)
		}
		at += digits
		if n > maxLen {
			return v, false, false
		}
	}
	v = Value{Tag: b[0], Len: n, Size: at + n}
	v.Body = b[at:min(len(b), at+n)]
	return v, false, true
}

// Next splits the first element off b; ok is false when it is not there whole.
func Next(b []byte) (v Value, rest []byte, ok bool) {
	v, _, ok = Head(b)
	if !ok || v.Size > len(b) {
		return Value{}, nil, false
	}
	return v, b[v.Size:], true
}

// Want is Next for an element that must have a tag.
func Want(b []byte, tag byte) (body, rest []byte, ok bool) {
	v, rest, ok := Next(b)
	if !ok || v.Tag != tag {
		return nil, nil, false
	}
	return v.Body, rest, true
}

// Uint is Int as a number that only names something.
func Uint(body []byte) uint64 { return uint64(Int(body)) } //nolint:gosec // the bits are what counts

// Int reads the body of an integer of up to eight bytes.
func Int(body []byte) int64 {
	if len(body) == 0 || len(body) > 8 {
		return 0
	}
	n := int64(int8(body[0])) //nolint:gosec // the first bit is the sign
	for _, c := range body[1:] {
		n = n<<8 | int64(c)
	}
	return n
}
