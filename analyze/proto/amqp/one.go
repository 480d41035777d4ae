package amqp

import (
	"bytes"
	"encoding/binary"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
)

// Frames of version 1.0 (AMQP 1.0, 2.3 and 5.3): size, where the body begins, type,
// channel; a body is a list with a number that says what it is.
const (
	head1Len                = 8
	longest1                = 1 << 26
	saslFrame               = 1
	open1, detach1          = 0x10, 0x16
	end1, close1            = 0x17, 0x18
	saslInit1, saslOutcome1 = 0x41, 0x44
)

func length1(b []byte) (int, error) {
	if len(b) < 4 {
		return 0, nil
	}
	n := binary.BigEndian.Uint32(b)
	if n < head1Len || n > longest1 {
		return 0, errFrame
	}
	return int(n), nil
}

func (a *analyzer) frame1(s *proto.Scope, dir flow.Dir, b []byte, total int) {
	if len(b) < head1Len {
		return
	}
	const word = 4
	at, typ := int(b[4])*word, b[5]
	if at < head1Len || at > len(b) || typ > saslFrame {
		return
	}
	what, fields := described(b[at:])
	switch {
	case what == open1 && dir == flow.ToServer:
		a.book.Queue(s, 0, "open", total)
	case what == open1:
		a.book.Answer(s, 0, resultOK, false, total)
	case what == saslInit1 && dir == flow.ToServer:
		a.book.Queue(s, 0, "login", total)
	case what == saslOutcome1 && dir == flow.ToClient:
		a.outcome1(s, fields, total)
	case what == detach1, what == end1, what == close1:
		if text := error1(fields); text != "" {
			tell(s, dir, 0, text, what == close1)
		}
	}
}

// described reads the number and the list behind it (AMQP 1.0, 1.6.24 and 1.6.22).
func described(b []byte) (what byte, fields []byte) {
	const small, long = 0x53, 0x80
	switch {
	case len(b) >= 3 && b[0] == 0 && b[1] == small:
		what, b = b[2], b[3:]
	case len(b) >= 10 && b[0] == 0 && b[1] == long:
		what, b = b[9], b[10:]
	default:
		return 0, nil
	}
	return what, list(b)
}

// list takes the head of a list off: its size and count.
func list(b []byte) []byte {
	const list8, list32 = 0xc0, 0xd0
	switch {
	case len(b) >= 3 && b[0] == list8:
		return b[3:]
	case len(b) >= 9 && b[0] == list32:
		return b[9:]
	}
	return nil
}

// outcome1 takes the result of a login (AMQP 1.0, 5.3.3.6): the first field is its code.
func (a *analyzer) outcome1(s *proto.Scope, fields []byte, total int) {
	const ubyte = 0x50
	if len(fields) < 2 || fields[0] != ubyte {
		return
	}
	names := [...]string{resultOK, "auth", "sys", "sys-perm", "sys-temp"}
	code := names[min(int(fields[1]), len(names)-1)]
	ok := fields[1] == 0
	a.book.Answer(s, 0, code, !ok, total)
	s.Publish(&proto.Login{Protocol: protocol, Client: s.Client().Addr(), Server: s.Server(), OK: ok})
	if !ok {
		tell(s, flow.ToClient, 0, "login refused: "+code, true)
	}
}

// error1 reads the error in the fields of a performative, a condition and words for
// it (AMQP 1.0, 2.8.14); empty: there is none.
func error1(fields []byte) string {
	mark := []byte{0, 0x53, 0x1d}
	_, fault, ok := bytes.Cut(fields, mark)
	if !ok {
		return ""
	}
	condition, rest := text1(list(fault))
	words, _ := text1(rest)
	if words != "" {
		return condition + ": " + words
	}
	return condition
}

// text1 reads a symbol or string, and what follows it.
func text1(b []byte) (text string, rest []byte) {
	const sym8, sym32, str8, str32 = 0xa3, 0xb3, 0xa1, 0xb1
	var n, at int
	switch {
	case len(b) >= 2 && (b[0] == sym8 || b[0] == str8):
		n, at = int(b[1]), 2
	case len(b) >= 5 && (b[0] == sym32 || b[0] == str32):
		n, at = int(binary.BigEndian.Uint32(b[1:])), 5
	default:
		return "", nil
	}
	if n > len(b)-at {
		return "", nil
	}
	return ask.Clip(b[at : at+n]), b[at+n:]
}

// tell reports that an end closed with an error.
func tell(s *proto.Scope, dir flow.Dir, code uint16, text string, connection bool) {
	server, whole := 0, 0
	if dir == flow.ToClient {
		server = 1
	}
	if connection {
		whole = 1
	}
	s.Report(Closed, finding.Num(code), finding.Text(text), finding.Num(server), finding.Num(whole), finding.Num(1))
}
