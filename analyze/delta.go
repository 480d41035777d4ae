package analyze

import (
	"netwhy/analyze/conn"
	"netwhy/analyze/correlate"
	"netwhy/analyze/decode"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/tcp"
)

// delta is everything that a lane has to say about one batch. It goes from lane
// to collector and back, and is used again. Each list is in capture order.
type delta struct {
	rates   []correlate.Rate // memory of tally.rates
	tally   tally            // of the whole batch; from lane 0 only
	tallied bool
	ending  bool // the capture is over: closed is in the order of serial

	opened    []opened
	events    []event
	finds     []found
	closed    []closed
	counts    []count
	malformed []string
	foreign   []string // protocols that were read though no counter has them
	tcp       [len(tcp.CounterNames)]uint64
	carried   []carriage // by names
	named     []uint32   // names that may have been carried: a few of some hundred; one may be there again
	evicted   uint64
	moment    uint64   // the moment that open and live answer; 0: none
	open      []closed // open conversations, of a moment
	live      uint64   // conversations in the table, of a moment
	shed      uint64
	unread    uint64 // segments and datagrams whose payload was left out under pressure

	grown     []pendingKey // private to the lane
	summaries []*conn.Summary
	used      int
}

// opened is a conversation that began.
type opened struct {
	frame     uint64
	at        int64
	sub       uint32 // order within the frame and lane
	slot      uint32
	proto     uint8
	quoted    bool // seen only inside an ICMP error
	real      bool // it was quoted only, and now has a packet of its own
	counted   bool // as quoted
	outer     bool // a tunnel's: it has no slot
	again     bool // another number for a conversation that was told before
	reverse   bool // not new: its other end sent for the first time
	srcIsA    bool // the frame's source is endpoint A
	clientIsA bool
	src, dst  [6]byte
	key       flow.Key
}

type event struct {
	slot uint32
	proto.Event
}

type found struct {
	slot uint32
	finding.Finding
}

type closed struct {
	frame uint64
	slot  uint32
	said  int           // events that its analyzer published when it ended
	sum   *conn.Summary // nil: only quoted, or summed up before
}

type count struct {
	counter proto.Counter
	key     string
	n       uint64
}

// carriage counts the frames that carry a protocol.
type carriage struct {
	n  uint64
	at uint64 // frame that was counted last
}

// begin makes the delta empty.
func (d *delta) begin(n *names) {
	if d.carried == nil {
		d.carried = make([]carriage, len(n.list))
	}
	d.tallied, d.ending = false, false
	d.opened = d.opened[:0]
	clear(d.events)
	d.events = d.events[:0]
	clear(d.finds)
	d.finds = d.finds[:0]
	d.closed, d.counts, d.malformed, d.grown = d.closed[:0], d.counts[:0], d.malformed[:0], d.grown[:0]
	d.foreign = d.foreign[:0]
	d.tcp = [len(tcp.CounterNames)]uint64{}
	for _, name := range d.named {
		d.carried[name] = carriage{}
	}
	d.named = d.named[:0]
	d.evicted, d.shed, d.used = 0, 0, 0
	d.moment, d.live, d.unread = 0, 0, 0
	clear(d.open)
	d.open = d.open[:0]
}

// take copies the tally of the batch: the original is used again before the
// collector reads it.
func (d *delta) take(t *tally) {
	d.rates = append(d.rates[:0], t.rates...)
	d.tally, d.tallied = *t, true
	d.tally.rates = d.rates
}

// summary returns an empty summary that lives as long as the delta is read.
func (d *delta) summary() *conn.Summary {
	if d.used == len(d.summaries) {
		d.summaries = append(d.summaries, new(conn.Summary))
	}
	s := d.summaries[d.used]
	d.used++
	*s = conn.Summary{}
	return s
}

func (d *delta) marks(m tcp.Marks) {
	for i := 0; m != 0; i, m = i+1, m>>1 {
		if m&1 != 0 && i < len(d.tcp) {
			d.tcp[i]++
		}
	}
}

// carry counts a protocol once a frame.
func (d *delta) carry(name int, frame uint64) {
	if x := &d.carried[name]; x.at != frame {
		x.at = frame
		d.add(name, 1)
	}
}

// add counts a protocol; less than none takes back what other deltas have.
func (d *delta) add(name int, n int64) {
	x := &d.carried[name]
	if x.n == 0 {
		d.named = append(d.named, uint32(name))
	}
	x.n += uint64(n)
}

// protocols counts those of a packet that was put together from fragments,
// beyond what its last fragment showed.
func (d *delta) protocols(before, whole decode.Set) {
	for p := range whole.All() {
		if !before.Has(p) {
			d.add(int(p), 1) // the decoder's protocols come first among the names
		}
	}
	if before.Has(decode.Data) && !whole.Has(decode.Data) {
		d.add(int(decode.Data), -1) // the last fragment was counted as one
	}
}
