package ledger

import (
	"netwhy/analyze/conn"
	"netwhy/analyze/flow"
	"netwhy/analyze/tcp"
)

// diary is what is kept of a conversation only where it is asked for
// (Options.Diary): what happened first in which order, as Zeek's conn.log tells it
// ("history" in the documentation of base/protocols/conn), and the bytes of the IP
// packets.
type diary struct {
	net     [2]uint64 // bytes of IP packets, by direction
	letters []byte
	once    [2]uint32 // letters that are told once, by direction
	last    [2][kinds]uint32
	seen    [2][kinds]uint32 // events, of kinds that are told again
}

// Kinds of events that are told more than once: those with another sequence
// number, and those that are told at the first, the tenth, the hundredth time.
const (
	kindSYN = iota
	kindSYNACK
	kindFIN
	kindRST
	kindGap
	kindAgain
	kindShut
	kinds
)

// maxLetters bounds what a conversation can make us keep.
const maxLetters = 32

// write adds a letter, in upper case for the originator.
func (y *diary) write(letter byte, d flow.Dir) {
	const lower = 'a' - 'A'
	if len(y.letters) >= maxLetters {
		return
	}
	if d&1 == flow.ToServer {
		letter -= lower
	}
	y.letters = append(y.letters, letter)
}

func (y *diary) first(letter byte, d flow.Dir) {
	bit := uint32(1) << (letter - 'a')
	if y.once[d&1]&bit == 0 {
		y.once[d&1] |= bit
		y.write(letter, d)
	}
}

func (y *diary) anew(letter byte, kind int, d flow.Dir, seq uint32) {
	if n := &y.seen[d&1][kind]; *n == 0 || y.last[d&1][kind] != seq {
		*n++
		y.last[d&1][kind] = seq
		y.write(letter, d)
	}
}

// often tells the first, the tenth, the hundredth event.
func (y *diary) often(letter byte, kind int, d flow.Dir) {
	const step = 10
	n := &y.seen[d&1][kind]
	*n++
	x := *n
	for x%step == 0 {
		x /= step
	}
	if x == 1 {
		y.write(letter, d)
	}
}

func (y *diary) segment(s *tcp.Segment, m tcp.Marks) {
	d := s.Dir & 1
	y.net[d] += uint64(s.NetLen)
	const control = tcp.FlagSYN | tcp.FlagFIN | tcp.FlagRST
	c := s.Flags & control
	switch {
	case c&tcp.FlagSYN != 0 && c != tcp.FlagSYN:
		y.first('q', d)
		return
	case c == tcp.FlagFIN|tcp.FlagRST:
		y.first('i', d)
		return
	case c == tcp.FlagSYN && s.Flags&tcp.FlagACK == 0:
		y.anew('s', kindSYN, d, s.Seq)
	case c == tcp.FlagSYN:
		y.anew('h', kindSYNACK, d, s.Seq)
	}
	if m.Has(tcp.AckLostSegment) {
		y.often('g', kindGap, d^1)
	}
	if s.Window == 0 && c == 0 {
		y.often('w', kindShut, d)
	}
	switch {
	case s.Len > 0 && m&tcp.Again != 0:
		y.often('t', kindAgain, d)
	case s.Len > 0:
		y.first('d', d)
	case c == 0:
		y.first('a', d)
	}
	switch c {
	case tcp.FlagFIN:
		y.anew('f', kindFIN, d, s.Seq)
	case tcp.FlagRST:
		y.anew('r', kindRST, d, s.Seq)
	}
}

func (b *Books) diarySegment(ref Ref, s *tcp.Segment, m tcp.Marks) { b.diaryOf(ref).segment(s, m) }

func (y *diary) datagram(d flow.Dir, net uint32) {
	y.net[d&1] += uint64(net)
	y.first('d', d)
}

func (y *diary) into(sum *conn.Summary) {
	sum.Client.NetBytes, sum.Server.NetBytes = y.net[flow.ToServer], y.net[flow.ToClient]
	sum.History = string(y.letters)
}

// diaryOf returns the diary of a conversation; nil where none is kept.
func (b *Books) diaryOf(ref Ref) *diary {
	if b.diaries == nil {
		return nil
	}
	y := b.diaries[ref]
	if y == nil {
		y = &diary{}
		b.diaries[ref] = y
	}
	return y
}
