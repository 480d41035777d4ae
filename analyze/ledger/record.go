package ledger

import (
	"netwhy/analyze/conn"
	"netwhy/analyze/flow"
)

// record is what every conversation costs. No pointers: 168 bytes.
type record struct {
	conv    uint32
	talk    uint32    // number in Books.talks; 0: no payload and no trouble yet
	flags   uint32    // flag constants below
	syns    uint8     // SYNs, saturating
	synAcks uint8     // SYN-ACKs, saturating
	endTTL  uint8     // of the first RST
	endSide flow.Dir  // in whose name the first RST came
	first   uint64    // frame
	last    uint64    // frame
	end     uint64    // frame of the first RST, or of the FIN that closed; 0: none
	start   int64     // time of the first frame, ns
	stop    int64     // time of the last frame
	endAt   int64     // time of frame end
	synAck  int64     // time of the first SYN-ACK; 0: none
	ready   int64     // time at which the handshake was complete; 0: not
	wire    [2]uint64 // bytes on the wire, by direction
	bytes   [2]uint64 // payload bytes, by direction
	packets [2]uint32 // by direction
	mss     [2]uint16 // of the SYN and the SYN-ACK; 0: no option
	ttl     [2]uint8  // of the first frame
	scale   [2]int8   // window scale; -1: not offered
	print   [2]uint32 // fingerprint of the last segment, by direction

	// The client's first payload, until more comes: many connections of a busy
	// capture have no more than a request, and need no talk for it.
	askedAt    int64
	askedIn    uint64 // frame
	askedSeq   uint32 // in UDP: number in Books.queries; 0: no exchange yet
	askedAck   uint32
	askedLen   uint16 // 0: none
	askedWin   uint16
	askedID    uint16
	askedFirst uint8 // its first byte, if TLS's major version follows; else 0
	askedPush  bool
}

// Flags of a record. Those for a side are followed by the other side's bit.
const (
	flagUDP            = 1 << iota
	flagSYN            // a SYN was seen: start is its time
	flagMid            // begun before the capture
	flagKnown          // who is client was seen
	flagECN            // ECN was agreed
	flagECNSetup       // the client offered it
	flagFastOpen       // data in the SYN
	flagFastOpenFailed // which the SYN-ACK did not acknowledge
	flagEstablished    // complete handshake, or taken for granted
	flagRefused        // RST in answer to the SYN
	flagOverruled      // a SYN-ACK came after a RST had refused
	flagSnapped        // payload was cut by the snaplen
	flagSACK           // offered by the client
	flagSACKServer
	flagFin // sent by the client
	flagFinServer
	flagRst
	flagRstServer
	flagSeen // the client's segments were seen
	flagSeenServer
	flagOdd      // a segment had flags that no system sends
	flagCrossed  // the server sent a SYN of its own
	flagReused   // it began on the ports of an earlier one
	flagUnscaled // a SYN was cut by the snaplen before its window scale
	flagDoubt    // something was sent again or acknowledged twice
)

// side gives the flag of one direction.
func side(flag uint32, d flow.Dir) uint32 { return flag << (d & 1) }

// Items of a slab's page: a short run stays small, a long one never copies. One size,
// known to the compiler, for all of them: an item is found without a bound to look up.
const (
	pageBits = 4
	pageSize = 1 << pageBits
)

// slab hands out numbered items of one kind and takes them back. Number 0 is
// never given. What get returns is as it was put back: the user clears it.
type slab[T any] struct {
	pages []*[pageSize]T
	free  []uint32
	next  uint32
	gone  []uint8 // while emptied: items of each page that were put back
}

func newSlab[T any]() slab[T] { return slab[T]{next: 1} }

// at finds an item. Items never move.
func (s *slab[T]) at(n uint32) *T { return &s.pages[n>>pageBits][n%pageSize] }

func (s *slab[T]) get() (uint32, *T) {
	if k := len(s.free); k > 0 {
		n := s.free[k-1]
		s.free = s.free[:k-1]
		return n, s.at(n)
	}
	if int(s.next>>pageBits) == len(s.pages) {
		page := new([pageSize]T)
		clear(page[:]) // memory that is read before it is written is had from the system twice
		s.pages = append(s.pages, page)
	}
	n := s.next
	s.next++
	return n, s.at(n)
}

func (s *slab[T]) put(n uint32) {
	if s.gone == nil {
		s.free = append(s.free, n)
		return
	}
	p := n >> pageBits
	if s.gone[p]++; s.gone[p] == pageSize {
		s.pages[p] = nil
	}
}

// empty begins to give pages back to the collector when all of their items were put
// back: there is no get any more.
func (s *slab[T]) empty() {
	s.gone = make([]uint8, len(s.pages))
	s.gone[0]++ // number 0
	for n := s.next; int(n>>pageBits) < len(s.pages); n++ {
		s.gone[n>>pageBits]++ // never used
	}
	for _, n := range s.free {
		s.put(n)
	}
	s.free = nil
}

// queries is the number in Books.queries of a UDP conversation.
func (r *record) queries() uint32 {
	if r.flags&flagUDP == 0 {
		return 0
	}
	return r.askedSeq
}

// unanswered reports whether the client sent SYNs and nothing came back. Whoever
// acknowledges something was answered, whether or not the tap saw it.
func (r *record) unanswered() bool {
	const syns = 255 // where syns saturates
	return r.flags&flagSYN != 0 && r.flags&flagSeenServer == 0 && r.flags&flagFin == 0 &&
		(r.packets[flow.ToServer] <= uint32(r.syns)+1 && r.flags&flagRst != 0 || r.packets[flow.ToServer] == uint32(r.syns) || r.syns == syns)
}

// tcpEnd tells how a TCP connection ended, as far as the record knows.
func (r *record) tcpEnd() conn.End {
	fins := r.flags & (flagFin | flagFinServer)
	switch {
	case r.flags&flagRefused != 0:
		return conn.EndRefused
	case r.flags&(flagRst|flagRstServer) != 0:
		return conn.EndReset
	case fins == flagFin|flagFinServer:
		return conn.EndFin
	case fins != 0:
		return conn.EndHalf
	}
	return conn.EndOpen
}
