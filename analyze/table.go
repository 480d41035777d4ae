package analyze

import (
	"net/netip"

	"netwhy/analyze/conn"
	"netwhy/analyze/flow"
	"netwhy/analyze/ledger"
	"netwhy/analyze/tcp"
)

// conversation is what a lane keeps of each live conversation beside the state
// of the TCP analysis and the ledger. It holds no pointer, so that a million of
// them cost the garbage collector nothing.
type conversation struct {
	key    flow.Key
	hash   uint32
	serial uint32 // in order of their first frames, within the lane
	first  uint64 // frame
	last   int64  // time of the last frame, ns
	latest uint64 // frame
	tcp    tcp.Ref
	book   ledger.Ref
	socket uint32 // index in lane.sockets; 0: none
	flags  uint16
	falls  uint8     // frames in a row with a lower TTL
	ttl    [2]uint8  // of the last frame of each direction
	rested uint8     // place in specs.all of the analyzer that was dropped (rest.go), plus 1; 0: none was
	print  [2]uint32 // fingerprint of the last datagram of each direction; in TCP the number of the early record, with waits, and what its payload is called, plus 1
}

const (
	clientIsA   = 1 << iota // the client is endpoint A
	clientKnown             // a SYN said so
	quotedOnly              // seen only inside an ICMP error
	copied                  // the last datagram was a copy
	deaf                    // no analyzer wants its payload
	inUse
	finished  // both ends said FIN
	aborted   // a RST ended it
	snmpBegan // the next datagram begins another number
	retired   // its summary is out; only what Wireshark counts is still followed
	waits     // its first words wait in an early record
	quotedIn  // it counts though it is only quoted, inside a tunnel
	dozing    // its analyzer awaits nothing, and may be dropped
	cutOff    // the snaplen cuts its segments
)

// ends are client and server.
func (c *conversation) ends() (client, server netip.AddrPort) {
	if c.flags&clientIsA != 0 {
		return c.key.AddrA(), c.key.AddrB()
	}
	return c.key.AddrB(), c.key.AddrA()
}

// describe begins a summary with what the table itself knows.
func (c *conversation) describe(sum *conn.Summary) {
	sum.Proto = protoName(c.key.Proto)
	sum.ClientKnown = c.flags&clientKnown != 0
	sum.First = c.first
	sum.Client.Addr, sum.Server.Addr = c.ends()
}

// chunkBits sets the size of the slab's chunks: growing never copies.
const chunkBits = 12

// table finds conversations by key: open addressing over slot numbers with
// linear probing and backward-shift deletion.
type table struct {
	index  []bucket // length is a power of two
	shift  uint8    // of the product that gives a place in it
	chunks []*[1 << chunkBits]conversation
	free   []uint32
	top    uint32 // slots handed out so far; slot 0 is never used
	live   int
	hand   uint32 // of the eviction clock
}

type bucket struct{ hash, slot uint32 }

const firstIndex = 10 // bits

func newTable() *table {
	return &table{index: make([]bucket, 1<<firstIndex), shift: 32 - firstIndex, top: 1}
}

// home is where a hash belongs. The lane was chosen by the highest bits of it, which
// are equal here: a product carries the others into the place.
func (t *table) home(hash uint32) uint32 { return hash * 0x9E3779B1 >> t.shift }

func (t *table) at(slot uint32) *conversation {
	return &t.chunks[slot>>chunkBits][slot&(1<<chunkBits-1)]
}

// find returns the slot of a key, or 0.
func (t *table) find(hash uint32, key *flow.Key) uint32 {
	mask := uint32(len(t.index) - 1)
	for i := t.home(hash); t.index[i].slot != 0; i = (i + 1) & mask {
		if t.index[i].hash == hash && t.at(t.index[i].slot).key.Is(key) {
			return t.index[i].slot
		}
	}
	return 0
}

// insert makes a conversation for a key that is not in the table.
func (t *table) insert(hash uint32, key *flow.Key) uint32 {
	if t.live*2 >= len(t.index) {
		t.grow()
	}
	slot := t.slot()
	c := t.at(slot)
	*c = conversation{key: *key, hash: hash, flags: inUse}
	t.link(hash, slot)
	t.live++
	return slot
}

func (t *table) link(hash, slot uint32) {
	mask := uint32(len(t.index) - 1)
	i := t.home(hash)
	for t.index[i].slot != 0 {
		i = (i + 1) & mask
	}
	t.index[i] = bucket{hash, slot}
}

func (t *table) slot() uint32 {
	if n := len(t.free); n > 0 {
		s := t.free[n-1]
		t.free = t.free[:n-1]
		return s
	}
	s := t.top
	t.top++
	if int(s>>chunkBits) == len(t.chunks) {
		t.chunks = append(t.chunks, new([1 << chunkBits]conversation))
	}
	return s
}

func (t *table) grow() {
	old := t.index
	t.index = make([]bucket, 2*len(old))
	clear(t.index) // or the system gives each page twice: link reads before it writes
	t.shift--
	for _, b := range old {
		if b.slot != 0 {
			t.link(b.hash, b.slot)
		}
	}
}

// unlink takes a conversation out of the index. Its slot is not used again
// until recycle, so that what is said of it in this batch keeps its number.
func (t *table) unlink(slot uint32) {
	c := t.at(slot)
	c.flags &^= inUse
	t.live--
	if t.index == nil {
		return
	}
	mask := uint32(len(t.index) - 1)
	i := t.home(c.hash)
	for t.index[i].slot != slot {
		i = (i + 1) & mask
	}
	for j := i; ; {
		j = (j + 1) & mask
		if t.index[j].slot == 0 {
			break
		}
		if home := t.home(t.index[j].hash); (j-home)&mask >= (j-i)&mask {
			t.index[i] = t.index[j]
			i = j
		}
	}
	t.index[i] = bucket{}
}

// seal gives the index up: nothing is looked for any more.
func (t *table) seal() { t.index = nil }

// recycle makes the slot of an unlinked conversation free.
func (t *table) recycle(slot uint32) { t.free = append(t.free, slot) }

// evictSample is how many conversations the clock hand looks at to find one
// that is long idle: exact order would cost a list through all of them.
const evictSample = 32

// idlest returns the longest idle of the next conversations under the clock
// hand, or 0.
func (t *table) idlest() (slot uint32) {
	var oldest int64
	seen := 0
	for range t.top - 1 {
		t.hand++
		if t.hand >= t.top {
			t.hand = 1
		}
		c := t.at(t.hand)
		if c.flags&inUse == 0 {
			continue
		}
		if slot == 0 || c.last < oldest {
			slot, oldest = t.hand, c.last
		}
		if seen++; seen == evictSample {
			break
		}
	}
	return slot
}
