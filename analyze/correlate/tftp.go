package correlate

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/tftp"
)

// TFTPNoAnswer is the code of requests for files that nobody answers.
const TFTPNoAnswer finding.Code = "tftp.no-answer"

const (
	// Clients ask again after 1 to 5 s (RFC 1123, 4.2.3.2 leaves it to them): one
	// request that was waited for so long, or any second one, has no answer.
	transferPatience = 5 * second
	maxTransfers     = 1 << 12 // requests that wait
)

// Transfers finds requests of TFTP without an answer, which comes from a port of the
// server's choice (RFC 1350, 4) and so in a conversation of its own.
func Transfers() Spec {
	return Spec{
		Name: "transfers", Doc: "TFTP requests that nobody answers (RFC 1350, 4)",
		New: func() Correlator {
			return &transfers{waiting: map[netip.AddrPort]*transfer{}, answered: map[transferPair]uint64{}}
		},
		Codes: []finding.Def{{
			Code: TFTPNoAnswer, Severity: finding.Notice,
			Doc: "A request for a file has no answer, neither from the port that was asked nor from another one (RFC 1350, 4): it was sent again, or five seconds passed.",
			Metrics: []finding.Metric{
				{Name: "file", Text: true, Doc: "the file asked for first"},
				{Name: "requests", Merge: finding.Sum, Doc: "requests without answer"},
				{Name: "answered", Merge: finding.Max, Doc: "requests of this client that the server did answer"},
				{Name: "waited_seconds", Merge: finding.Max, Doc: "from the first request to the last, or to the end of what was seen"},
			},
		}},
	}
}

// transferPair is a client and the service that it asks.
type transferPair struct {
	client netip.Addr
	server netip.AddrPort
}

// transfer is a request, with its repetitions from the same port.
type transfer struct {
	pair transferPair
	flow flow.ID
	file string
	n    uint64
	ev   finding.Evidence
}

type transfers struct {
	waiting  map[netip.AddrPort]*transfer // by the client's port, which takes one file
	answered map[transferPair]uint64
	now      int64
}

// Hears implements Listener.
func (*transfers) Hears() []any { return []any{(*tftp.Request)(nil)} }

// Event implements Listener.
func (t *transfers) Event(_ *Out, e *proto.Event) {
	x, ok := e.Body.(*tftp.Request)
	if !ok {
		return
	}
	t.now = e.Time
	if x.Answered {
		t.answer(x.Client)
		return
	}
	w := t.waiting[x.Client]
	if w == nil {
		if len(t.waiting) >= maxTransfers {
			return
		}
		w = &transfer{pair: transferPair{x.Client.Addr(), x.Server}, flow: e.Flow, file: x.File}
		t.waiting[x.Client] = w
	}
	w.n++
	w.ev.Add(e.Frame, e.Time)
}

// Opened takes a conversation with a port that waits for a file as the answer,
// wherever it comes from: a server may have several addresses.
func (t *transfers) Opened(_ *Out, x *Opened) {
	if len(t.waiting) == 0 {
		return
	}
	t.now = x.Time
	if x.ID.Proto != flow.UDP {
		return
	}
	for _, end := range [2]netip.AddrPort{x.Client, x.Server} {
		if w := t.waiting[end]; w != nil && w.flow != x.ID {
			t.answer(end)
		}
	}
}

func (t *transfers) answer(client netip.AddrPort) {
	w := t.waiting[client]
	if w == nil {
		return
	}
	delete(t.waiting, client)
	if _, known := t.answered[w.pair]; known || len(t.answered) < maxTransfers {
		t.answered[w.pair]++
	}
}

// End tells what nobody answered, once for each client and service: some clients
// ask from another port each time.
func (t *transfers) End(o *Out) {
	all := slices.SortedFunc(maps.Values(t.waiting), func(a, b *transfer) int { return cmp.Compare(a.ev.First, b.ev.First) })
	first := map[transferPair]*transfer{}
	found := all[:0]
	for _, w := range all {
		if f := first[w.pair]; f != nil {
			f.n += w.n
			f.ev.Join(&w.ev)
			continue
		}
		first[w.pair] = w
		found = append(found, w)
	}
	for _, w := range found {
		waited := t.now - w.ev.Start
		if w.n < 2 && waited < transferPatience {
			continue
		}
		o.Emit(finding.Finding{
			Code: TFTPNoAnswer, Severity: finding.Notice, Flow: w.flow, Evidence: w.ev,
			Values: []finding.Value{
				finding.Text(w.file), finding.Num(w.n), finding.Num(t.answered[w.pair]), finding.Num(float64(waited) / float64(second)),
			},
		})
	}
}
