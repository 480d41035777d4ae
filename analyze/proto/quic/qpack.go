package quic

import (
	"golang.org/x/net/http2/hpack"

	"netwhy/analyze/proto/internal/web"
)

// Bounds of QPACK (RFC 9204).
const (
	maxEntries = 4096 // of the dynamic table that are kept; 4 KiB hold some 100
	maxField   = 8 << 10
	maxLines   = 256 // of one header
)

// field is one line of a header.
type field struct{ name, value string }

// static returns those entries of the static table (RFC 9204, A) that matter; the
// others have no name here.
func static(i uint64) field {
	switch i {
	case 0:
		return field{":authority", ""}
	case 1:
		return field{":path", "/"}
	case 12:
		return field{"location", ""}
	case 84:
		return field{"authorization", ""}
	case 92:
		return field{"server", ""}
	case 95:
		return field{"user-agent", ""}
	}
	if v := nth(i, 15, "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"); v != "" {
		return field{":method", v}
	}
	v := nth(i, 24, "103", "200", "304", "404", "503")
	if v == "" {
		v = nth(i, 63, "100", "204", "206", "302", "400", "403", "421", "425", "500")
	}
	if v == "" {
		return field{}
	}
	return field{":status", v}
}

// nth returns the one of a list that begins at first which has number i; empty:
// there is none.
func nth(i, first uint64, list ...string) string {
	for n, v := range list {
		if first+uint64(n) == i {
			return v
		}
	}
	return ""
}

// table is the dynamic table of one encoder (RFC 9204, 3.2).
type table struct {
	entries  []field
	inserted uint64 // all that ever came; entries are the last of them
	capacity uint64 // that the encoder uses
	most     uint64 // that the decoder allows; 0: not known
}

func (t *table) insert(f field) {
	t.inserted++
	if t.entries = append(t.entries, f); len(t.entries) > maxEntries {
		t.entries = append(t.entries[:0], t.entries[len(t.entries)-maxEntries/2:]...)
	}
}

// at returns the entry with an absolute number.
func (t *table) at(i uint64) field {
	if first := t.inserted - uint64(len(t.entries)); i >= first && i < t.inserted {
		return t.entries[i-first]
	}
	return field{}
}

// lines reads what QPACK is written in; short and bad stick.
type lines struct {
	b          []byte
	short, bad bool
}

// number reads an integer with a prefix of n bits (RFC 7541, 5.1).
func (l *lines) number(n int) uint64 {
	if len(l.b) == 0 {
		l.short = true
		return 0
	}
	most := uint64(1)<<n - 1
	v := uint64(l.b[0]) & most
	l.b = l.b[1:]
	if v < most {
		return v
	}
	for shift := 0; ; shift += 7 {
		switch {
		case len(l.b) == 0:
			l.short = true
			return 0
		case shift > 28:
			l.bad = true
			return 0
		}
		c := l.b[0]
		l.b = l.b[1:]
		v += uint64(c&0x7f) << shift
		if c&0x80 == 0 {
			return v
		}
	}
}

// text reads a string whose length has a prefix of n bits; the bit above says
// whether Huffman's code is used.
func (l *lines) text(n int) string {
	if len(l.b) == 0 {
		l.short = true
		return ""
	}
	huffman := l.b[0]>>n&1 != 0
	size := l.number(n)
	switch {
	case l.short || l.bad:
		return ""
	case size > maxField:
		l.bad = true
		return ""
	case uint64(len(l.b)) < size:
		l.short = true
		return ""
	}
	raw := l.b[:size]
	l.b = l.b[size:]
	if !huffman {
		return string(raw)
	}
	text, err := hpack.HuffmanDecodeToString(raw)
	if err != nil {
		l.bad = true
	}
	return text
}

// instructions reads what an encoder says (RFC 9204, 4.3); false: it is broken.
func (t *table) instructions(p *pieces) bool {
	for len(p.ready) > 0 {
		l := lines{b: p.ready}
		var f field
		insert := true
		switch c := p.ready[0]; {
		case c&0x80 != 0: // with the name of another
			i := l.number(6)
			f.name = t.relative(i, c&0x40 != 0).name
			f.value = l.text(7)
		case c&0x40 != 0:
			f.name = l.text(5)
			f.value = l.text(7)
		case c&0x20 != 0:
			t.capacity = l.number(5)
			insert = false
		default:
			f = t.relative(l.number(5), false)
		}
		if l.bad {
			return false
		}
		if l.short {
			return true
		}
		if insert {
			t.insert(f)
		}
		p.use(len(p.ready) - len(l.b))
	}
	return true
}

// relative finds an entry counted from the last inserted (RFC 9204, 3.2.5).
func (t *table) relative(i uint64, fixed bool) field {
	if fixed {
		return static(i)
	}
	return t.at(t.inserted - 1 - i)
}

// section reads a header (RFC 9204, 4.5). Lines that refer to entries which were
// not captured have no name.
func (t *table) section(b []byte) (fs web.Fields, ok bool) {
	l := lines{b: b}
	required := t.required(l.number(8))
	negative := len(l.b) > 0 && l.b[0]&0x80 != 0
	base := required
	if delta := l.number(7); negative {
		base -= delta + 1
	} else {
		base += delta
	}
	for n := 0; len(l.b) > 0 && !l.short && !l.bad && n < maxLines; n++ {
		f := t.line(&l, base)
		fs.Take(f.name, f.value)
	}
	return fs, !l.short && !l.bad
}

func (t *table) line(l *lines, base uint64) (f field) {
	switch c := l.b[0]; {
	case c&0x80 != 0: // indexed
		if i := l.number(6); c&0x40 != 0 {
			f = static(i)
		} else {
			f = t.at(base - 1 - i)
		}
	case c&0x40 != 0: // with the name of another
		if i := l.number(4); c&0x10 != 0 {
			f.name = static(i).name
		} else {
			f.name = t.at(base - 1 - i).name
		}
		f.value = l.text(7)
	case c&0x20 != 0: // literal
		f.name = l.text(3)
		f.value = l.text(7)
	case c&0x10 != 0: // indexed, behind the base
		f = t.at(base + l.number(4))
	default:
		f.name = t.at(base + l.number(3)).name
		f.value = l.text(7)
	}
	return f
}

// required restores the number of entries that a header needs (RFC 9204, 4.5.1.1).
func (t *table) required(encoded uint64) uint64 {
	const smallest = 32 // bytes of an entry
	full := 2 * (max(t.most, t.capacity) / smallest)
	if encoded == 0 || full == 0 {
		return 0
	}
	most := t.inserted + full/2
	v := most/full*full + encoded - 1
	if v > most && v >= full {
		v -= full
	}
	return v
}
