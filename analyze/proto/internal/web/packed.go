package web

import (
	"bytes"
	"compress/gzip"
)

// Bounds of bodies that are unpacked: answers of programs to programs are small, and
// what is larger is believed.
const (
	maxPacked   = 16 << 10  // of one body, compressed
	maxUnpacked = 256 << 10 // of one body
	maxHeld     = 1 << 20   // of all that an Unpacker's bodies keep at a time
)

// Packed is a compressed body (RFC 9110, 8.4.1.3) that claims to be JSON, as far as it has come.
type Packed struct {
	raw   []byte
	much  bool // more than is kept
	wrong bool // what was kept is no JSON
}

// Unpacker reads compressed bodies when they are whole. A lane has one.
type Unpacker struct {
	held   int
	reader *gzip.Reader
	room   [4 << 10]byte
}

// Keep takes the next bytes of a body.
func (u *Unpacker) Keep(p *Packed, b []byte) {
	switch {
	case p.much:
		return
	case len(p.raw)+len(b) > maxPacked || u.held+len(b) > maxHeld:
		_, _, j := u.read(p.raw)
		p.much, p.wrong = true, j.wrong
		u.Drop(p)
		return
	}
	u.held += len(b)
	p.raw = append(p.raw, b...)
}

// Drop forgets what was kept of a body.
func (u *Unpacker) Drop(p *Packed) {
	u.held -= len(p.raw)
	p.raw = nil
}

// JSON reports whether a body can be unpacked, and is JSON then. What was not kept is
// believed.
func (u *Unpacker) JSON(p *Packed) (readable, whole bool) {
	if p.much || len(p.raw) == 0 {
		return true, !p.wrong
	}
	readable, ended, j := u.read(p.raw)
	return readable, j.Whole() || readable && !ended && !j.wrong
}

// read unpacks as much of a body as is there and may be; ended tells that it is all.
func (u *Unpacker) read(raw []byte) (readable, ended bool, j JSON) {
	var err error
	from := bytes.NewReader(raw)
	if u.reader == nil {
		u.reader, err = gzip.NewReader(from)
	} else {
		err = u.reader.Reset(from)
	}
	if err != nil {
		return false, false, j
	}
	for left := maxUnpacked; left > 0 && !j.wrong; {
		n, err := u.reader.Read(u.room[:])
		j.Write(u.room[:n])
		if left -= n; err != nil {
			return true, true, j
		}
	}
	return true, false, j
}
