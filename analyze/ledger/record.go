package ledger

import "netwhy/analyze/flow"

// record is what every conversation costs. No pointers: 128 bytes.
type record struct {
	conv    uint32
	talk    uint32    // number in Books.talks; 0: no payload yet
	early   uint32    // number in Books.earlies; 0: no trouble with the handshake
	flags   uint32    // flag constants below
	first   uint64    // frame
	last    uint64    // frame
	start   int64     // time of the first frame, ns
	stop    int64     // time of the last frame
	synAck  int64     // time of the first SYN-ACK; 0: none
	ready   int64     // time at which the handshake was complete; 0: not
	wire    [2]uint64 // bytes on the wire, by direction
	bytes   [2]uint64 // payload bytes, by direction
	packets [2]uint32 // by direction
	mss     [2]uint16 // of the SYN and the SYN-ACK; 0: no option
	ttl     [2]uint8  // of the first frame
	scale   [2]int8   // window scale; -1: not offered
	syns    uint8     // SYNs, saturating
	synAcks uint8     // SYN-ACKs, saturating
	window  uint16    // largest in a header of a SYN
}

// Flags of a record.
const (
	flagUDP            = 1 << iota
	flagSYN            // a SYN was seen: start is its time
	flagMid            // begun before the capture
	flagKnown          // who is client was seen
	flagECN            // ECN was agreed
	flagECNSetup       // the client offered it
	flagSACK           // both offered SACK
	flagFastOpen       // data in the SYN
	flagFastOpenFailed // and the SYN-ACK did not acknowledge it
	flagEstablished
	flagSACKClient
	flagFin    // client's FIN; server's is the next bit
	flagFinTwo // server's
	flagRst    // client's RST; server's is the next bit
	flagRstTwo
	flagSeen // client's segments were seen; server's is the next bit
	flagSeenTwo
	flagRefused
	flagICMP
	flagCopies // mirrored copies were met
	flagV6
)

func side(flag uint32, d flow.Dir) uint32 { return flag << (d & 1) }

// chunk sizes of the slabs: a short run stays small, a long one never copies.
const (
	recordPage = 1 << 10
	talkPage   = 1 << 6
	earlyPage  = 1 << 6
)

// slab hands out numbered items of one kind and takes them back. Number 0 is
// never given.
type slab[T any] struct {
	pages []([]T)
	free  []uint32
	next  uint32
	page  uint32
}

func newSlab[T any](page uint32) slab[T] { return slab[T]{page: page, next: 1} }

func (s *slab[T]) at(n uint32) *T { return &s.pages[n/s.page][n%s.page] }

// get returns a number whose item is as it was given back: the user clears it.
func (s *slab[T]) get() (uint32, *T) {
	if k := len(s.free); k > 0 {
		n := s.free[k-1]
		s.free = s.free[:k-1]
		return n, s.at(n)
	}
	if int(s.next/s.page) == len(s.pages) {
		s.pages = append(s.pages, make([]T, s.page))
	}
	n := s.next
	s.next++
	return n, s.at(n)
}

func (s *slab[T]) put(n uint32) { s.free = append(s.free, n) }
