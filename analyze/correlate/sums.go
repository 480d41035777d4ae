package correlate

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// WrongChecksum is the code of checksums that are wrong.
const WrongChecksum finding.Code = "ip.wrong-checksum"

// Layer is what a checksum is over.
type Layer uint8

// Layers.
const (
	LayerIP Layer = iota // the header of IPv4
	LayerTCP
	LayerUDP
	LayerICMP // both versions
)

func (l Layer) String() string {
	return [...]string{"IP header", "TCP", "UDP", "ICMP"}[min(l, LayerICMP)]
}

// WrongSum is published by the lanes for a packet whose checksum is wrong and not
// just left to the network card: of the first packets of each conversation, and of
// ICMP.
type WrongSum struct {
	Layer    Layer
	From, To netip.Addr
}

// Checksums gathers packets with wrong checksums. Of TCP, those of conversations
// that went on are judged by what the receiver did with them (tcp.bad-checksum), and
// are left out.
func Checksums() Spec {
	return Spec{
		Name: "checksums", Doc: "wrong checksums of IP, UDP and ICMP, and of TCP where nobody answers",
		New: func() Correlator { return &checksums{pairs: map[ends]*wrong{}, tcp: map[flow.ID][]heldSum{}} },
		Codes: []finding.Def{{
			Code: WrongChecksum, Severity: finding.Notice,
			Doc: "Packets have a wrong checksum that no network card would have filled in: they were damaged on the way or made so, and receivers drop them (RFC 1122, 3.2.1.2 and 4.1.3.4). Or somebody rewrote the capture. Only the first packets of each direction are verified, and ICMP.",
			Metrics: []finding.Metric{
				{Name: "layer", Text: true, Doc: "IP header, TCP, UDP or ICMP: of the first"},
				{Name: "from", Text: true, Doc: "sender of the first"},
				{Name: "to", Text: true, Doc: "its receiver"},
				{Name: "packets", Merge: finding.Sum, Doc: "such packets"},
				{Name: "pairs", Merge: finding.Max, Doc: "different senders and receivers"},
				{Name: "both_ways", Merge: finding.Max, Doc: "of these pairs, those of which the other direction is among them too: as in a capture that was rewritten"},
			},
		}},
	}
}

// ends are a sender and a receiver.
type ends struct{ from, to netip.Addr }

type wrong struct {
	layer Layer
	ev    finding.Evidence
}

// heldSum waits for the end of its conversation.
type heldSum struct {
	sum   WrongSum
	frame uint64
	at    int64
}

type checksums struct {
	pairs map[ends]*wrong
	tcp   map[flow.ID][]heldSum
}

// Hears implements Listener.
func (*checksums) Hears() []any { return []any{(*WrongSum)(nil)} }

// Event takes one packet.
func (c *checksums) Event(_ *Out, e *proto.Event) {
	x, ok := e.Body.(*WrongSum)
	if !ok {
		return
	}
	h := heldSum{*x, e.Frame, e.Time}
	if x.Layer != LayerTCP {
		c.add(h)
	} else if len(c.tcp) < maxPairs {
		c.tcp[e.Flow] = append(c.tcp[e.Flow], h)
	}
}

func (c *checksums) add(h heldSum) {
	k := ends{h.sum.From, h.sum.To}
	w := c.pairs[k]
	if w == nil {
		if len(c.pairs) >= maxPairs {
			return
		}
		w = &wrong{layer: h.sum.Layer}
		c.pairs[k] = w
	}
	w.ev.Add(h.frame, h.at)
}

// Conn takes those of connections that nobody answered.
func (c *checksums) Conn(_ *Out, s *Folded) {
	held, known := c.tcp[s.ID]
	if !known {
		return
	}
	delete(c.tcp, s.ID)
	if s.Client.Packets > 0 && s.Server.Packets > 0 {
		return
	}
	for _, h := range held {
		c.add(h)
	}
}

// End tells of all in one finding.
func (c *checksums) End(o *Out) {
	order := slices.SortedFunc(maps.Keys(c.pairs), func(a, b ends) int {
		return cmp.Or(cmp.Compare(c.pairs[a].ev.First, c.pairs[b].ev.First), a.from.Compare(b.from), a.to.Compare(b.to))
	})
	if len(order) == 0 {
		return
	}
	first := c.pairs[order[0]]
	ev := first.ev
	both := 0
	for i, p := range order {
		if i > 0 {
			ev.Join(&c.pairs[p].ev)
		}
		if c.pairs[ends{p.to, p.from}] != nil {
			both++
		}
	}
	o.Emit(finding.Finding{
		Code: WrongChecksum, Severity: finding.Notice, Evidence: ev,
		Values: []finding.Value{
			finding.Text(first.layer.String()), finding.Text(order[0].from.String()), finding.Text(order[0].to.String()),
			finding.Num(ev.Count), finding.Num(len(order)), finding.Num(both),
		},
	})
}
