// Package dcerpc recognises DCE/RPC over TCP (C706, MS-RPCE) on any port: Windows
// gives each service one. What is asked is named by the interface that was bound;
// the calls themselves are not read.
package dcerpc

import (
	"encoding/binary"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/frames"
	"netwhy/analyze/proto/internal/gss"
)

const name = "dcerpc"

// Types of messages (C706, 12.6.3.1).
const (
	request, response, fault            = 0, 2, 3
	bind, bindAck, bindNak, alter, last = 11, 12, 13, 14, 19
)

const (
	headLen      = 16
	littleEndian = 0x10
	maxContexts  = 16
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: name, Doc: "DCE/RPC over TCP, C706 and MS-RPCE",
		Also:    append(gss.Names(), interfaceNames()...),
		Carrier: proto.TCP, Ports: []uint16{135}, Anywhere: true,
		First: func(_ flow.Dir, c byte) bool { return c == 5 },
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			switch {
			case len(b) > 0 && b[0] != 5, len(b) > 1 && b[1] > 1, len(b) > 2 && !known(b[2]), len(b) > 4 && b[4]&^littleEndian != 0:
				return proto.No
			case len(b) < headLen && len(b) > 2 && b[2] != bind: // SOCKS begins so
				return proto.No
			case len(b) < headLen:
				return proto.NeedMore
			case b[5]|b[6]|b[7] != 0 || size(b) < headLen:
				return proto.No
			case b[2] == bind || b[2] == bindAck || b[2] == alter:
				return proto.Certain
			}
			return proto.Likely
		},
		New: newAnalyzer,
	}
}

func known(kind byte) bool {
	return kind == request || kind == response || kind == fault || kind >= bind && kind <= last
}

// size is the length of the fragment that b begins with, head included.
func size(b []byte) int { return int(order(b).Uint16(b[8:])) }

func order(b []byte) binary.ByteOrder {
	if b[4]&littleEndian != 0 {
		return binary.LittleEndian
	}
	return binary.BigEndian
}

type analyzer struct {
	frames.Reader

	bound map[uint16]string // interface by context
}

func newAnalyzer() proto.Analyzer {
	a := &analyzer{bound: map[uint16]string{}}
	a.Length, a.Message = length, a.message
	a.Sync = func(_ flow.Dir, b []byte) bool {
		return len(b) >= headLen && b[0] == 5 && b[1] <= 1 && known(b[2]) && size(b) >= headLen
	}
	return a
}

type failure string

func (f failure) Error() string { return string(f) }

const errHead failure = "no DCE/RPC fragment where one begins"

func length(_ flow.Dir, b []byte) (int, error) {
	if b[0] != 5 {
		return 0, errHead
	}
	if len(b) < headLen {
		return 0, nil
	}
	n := size(b)
	if n < headLen {
		return 0, errHead
	}
	return n, nil
}

// message names a fragment: who it is for, unless that is encrypted, and how the
// caller proves who he is.
func (a *analyzer) message(s *proto.Scope, _ flow.Dir, b []byte, total int) {
	const contextAt, privacy = 20, 6
	if len(b) < headLen {
		return
	}
	e := order(b)
	level := byte(0)
	if n := int(e.Uint16(b[10:])); n > 0 && len(b) == total && total >= headLen+8+n { // trailer (C706, 13.2.6.1)
		trailer := b[total-n-8:]
		level = trailer[1]
		if kind := b[2]; kind >= bind {
			gss.Inside(s, trailer[8:])
		}
	}
	switch b[2] {
	case bind, alter:
		a.bind(e, b)
	case request, response:
		if len(b) >= contextAt+2 && level != privacy {
			if to := a.bound[e.Uint16(b[contextAt:])]; to != "" {
				s.Carries(to)
			}
		}
	}
}

// bind notes the interfaces that a caller asks for (C706, 12.6.4.3).
func (a *analyzer) bind(e binary.ByteOrder, b []byte) {
	const listAt, elementLen, syntaxLen = 24, 24, 20
	if len(b) <= listAt {
		return
	}
	at := listAt + 4
	for range b[listAt] {
		if at+elementLen > len(b) || len(a.bound) >= maxContexts {
			return
		}
		if to := interfaceOf(e, b[at+4:]); to != "" {
			a.bound[e.Uint16(b[at:])] = to
		}
		at += elementLen + int(b[at+2])*syntaxLen
	}
}

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
