package tcp

// The three slabs hold no pointer that the collector would follow but those to
// their pages, and hand memory out by number; what is given back is used first.

// Pages are this large, so that a short run stays small and a long one has few.
const (
	connPage  = 1 << 10 // connections
	nodePage  = 1 << 12 // nodes
	blockPage = 1 << 5  // blocks
	blockSize = 1 << 11 // bytes: a full Ethernet segment and its neighbourhood
)

// connSlab holds connections. Number 0 is never given.
type connSlab struct {
	pages []*[connPage]connection
	free  Ref // head of the list through connection.conv
	next  Ref // first never used
	used  int
	gone  []uint16 // while emptied: connections of each page that were put back
}

// empty begins to give pages back to the collector when all of their connections
// were put back: there is no get any more.
func (s *connSlab) empty() {
	s.gone = make([]uint16, len(s.pages))
	if len(s.pages) == 0 {
		return
	}
	s.gone[0]++ // number 0
	for r := s.next; int(r/connPage) < len(s.pages); r++ {
		s.gone[r/connPage]++ // never used
	}
	for r := s.free; r != 0; {
		next := Ref(s.at(r).conv)
		s.leave(r)
		r = next
	}
}

func (s *connSlab) leave(r Ref) {
	p := r / connPage
	if s.gone[p]++; s.gone[p] == connPage {
		s.pages[p] = nil
	}
}

func (s *connSlab) at(r Ref) *connection {
	return &s.pages[r/connPage][r%connPage]
}

func (s *connSlab) get() (Ref, *connection) {
	s.used++
	if r := s.free; r != 0 {
		c := s.at(r)
		s.free = Ref(c.conv)
		*c = connection{}
		return r, c
	}
	if s.next == 0 {
		s.next = 1
	}
	if int(s.next/connPage) == len(s.pages) {
		s.pages = append(s.pages, new([connPage]connection))
	}
	r := s.next
	s.next++
	c := s.at(r)
	*c = connection{} // memory that is read before it is written is had from the system twice
	return r, c
}

func (s *connSlab) put(r Ref) {
	s.used--
	if s.gone != nil {
		s.leave(r)
		return
	}
	c := s.at(r)
	*c = connection{conv: uint32(s.free)}
	s.free = r
}

// node is a segment that was sent and not yet acknowledged, but for the youngest of most
// directions (half.frame), or a range of bytes beyond a hole. 32 bytes.
type node struct {
	time  int64
	frame uint64
	seq   uint32 // of a range
	end   uint32 // sequence number after its last byte; SYN and FIN count one
	next  uint32 // node; 0: last. In the list of segments: after the last comes the first
	block uint32 // of its bytes; 0: none kept. In the list of segments: nodeAgain
}

// nodeAgain in node.block: the segment, or one before it, was sent again, so that
// its acknowledgement measures nothing (Karn's rule).
const nodeAgain = 1

// nodeSlab holds nodes. Number 0 is never given.
type nodeSlab struct {
	pages []*[nodePage]node
	free  uint32
	next  uint32
	used  int
	most  int
}

func (s *nodeSlab) at(i uint32) *node {
	return &s.pages[i/nodePage][i%nodePage]
}

// get returns a node that is still to be filled in, or 0 when the bound is reached.
func (s *nodeSlab) get() (uint32, *node) {
	i := s.free
	if i == 0 {
		if i = s.fresh(); i == 0 {
			return 0, nil
		}
	}
	s.used++
	n := s.at(i)
	s.free = n.next
	return i, n
}

// fresh returns a node that was never used, or 0.
func (s *nodeSlab) fresh() uint32 {
	if s.used >= s.most {
		return 0
	}
	if s.next == 0 {
		s.next = 1
	}
	if int(s.next/nodePage) == len(s.pages) {
		s.pages = append(s.pages, new([nodePage]node))
	}
	i := s.next
	s.next++
	s.at(i).next = 0 // memory that is read before it is written is had from the system twice
	return i
}

func (s *nodeSlab) put(i uint32) { s.putAll(i, s.at(i), 1) }

// putAll takes a list of n nodes back.
func (s *nodeSlab) putAll(first uint32, last *node, n int) {
	s.used -= n
	last.next = s.free
	s.free = first
}

// block holds the bytes of one node.
type block struct {
	n    uint32 // bytes used
	next uint32 // free list
	b    [blockSize]byte
}

// blockSlab holds blocks. Number 0 is never given.
type blockSlab struct {
	pages []*[blockPage]block
	free  uint32
	next  uint32
	used  int
	most  int
}

func (s *blockSlab) at(i uint32) *block {
	return &s.pages[i/blockPage][i%blockPage]
}

// get returns 0 when the bound is reached.
func (s *blockSlab) get() (uint32, *block) {
	if s.used >= s.most {
		return 0, nil
	}
	s.used++
	if i := s.free; i != 0 {
		b := s.at(i)
		s.free = b.next
		b.n = 0
		return i, b
	}
	if s.next == 0 {
		s.next = 1
	}
	if int(s.next/blockPage) == len(s.pages) {
		s.pages = append(s.pages, new([blockPage]block))
	}
	i := s.next
	s.next++
	b := s.at(i)
	b.n = 0 // memory that is read before it is written is had from the system twice
	return i, b
}

func (s *blockSlab) put(i uint32) {
	s.used--
	s.at(i).next = s.free
	s.free = i
}
