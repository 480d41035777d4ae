package analyze

import (
	"cmp"
	"container/heap"
	"fmt"
	"net/netip"
	"slices"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/tcp"
	"netwhy/capture/packet"
)

// Result is what a run found.
type Result struct {
	Packets, Bytes   uint64
	First, Last      int64  // times of the first and last frame, ns since 1970 UTC
	Undecoded        uint64 // frames whose network layer could not be read
	Source           packet.Counters
	Protocols        map[string]uint64 // frames that carry each
	TCPConversations uint64
	UDPConversations uint64
	TCP              [len(tcp.CounterNames)]uint64 // by tcp.CounterNames
	Keyed            [proto.Counters]map[string]uint64
	Findings         []finding.Finding // by first frame, code, conversation, host
	Connections      []conn.Summary    // by protocol and number: those with findings, and the costliest and largest
	Standing         []conn.Summary    // of a moment of a live run: those not yet folded, as far as they are in Connections
	Trust            conn.Trust
	Names            map[netip.Addr]string // that lookups gave to addresses; hostile
	Malformed        map[string]uint64     // conversations with broken bytes, by protocol and reason
	NotAssessed      []string              // what could not be judged, and why
	Open             uint64                // conversations that are open, at a moment of a live run
	Evicted          uint64                // conversations forgotten early for want of memory
	Unread           uint64                // segments and datagrams whose payload was left out under pressure (live)
	Shed             uint64                // findings left out for want of memory
}

// maxNames bounds the addresses that are named.
const maxNames = 1 << 16

func newResult() *Result {
	return &Result{Protocols: map[string]uint64{}, Names: map[netip.Addr]string{}, Malformed: map[string]uint64{}}
}

func (r *Result) name(name string, addrs []netip.Addr) {
	for _, a := range addrs {
		if _, known := r.Names[a]; known || len(r.Names) < maxNames {
			r.Names[a] = name
		}
	}
}

// Connection returns the summary of a conversation, if it was kept.
func (r *Result) Connection(id flow.ID) *conn.Summary {
	i, ok := slices.BinarySearchFunc(r.Connections, id, func(s conn.Summary, id flow.ID) int { return compareIDs(s.ID, id) })
	if !ok {
		return nil
	}
	return &r.Connections[i]
}

// opaque are protocols whose payload cannot be read from outside.
var opaque = map[string]string{ //nolint:gochecknoglobals // constant table
	"tls": "encrypted", "quic": "encrypted", "dtls": "encrypted", "ssh": "encrypted", "esp": "encrypted",
	"wg": "encrypted", "openvpn": "encrypted", "isakmp": "encrypted",
}

// finish derives what is known only at the end.
func (r *Result) finish() {
	r.NotAssessed = nil
	for name, why := range opaque {
		if r.Protocols[name] > 0 {
			r.NotAssessed = append(r.NotAssessed, name+": "+why)
		}
	}
	if r.Undecoded > 0 {
		r.NotAssessed = append(r.NotAssessed, "undecoded: no network layer that can be read")
	}
	if r.Unread > 0 {
		r.NotAssessed = append(r.NotAssessed, fmt.Sprintf("payload: %d segments and datagrams were left unread, the analysis did not keep up", r.Unread))
	}
	for m := range r.Malformed {
		r.NotAssessed = append(r.NotAssessed, m)
	}
	slices.Sort(r.NotAssessed)
	r.Trust.Dropped = r.Source.DroppedKernel + r.Source.DroppedInterface + r.Source.DroppedQueue
}

func compareIDs(a, b flow.ID) int {
	return cmp.Or(cmp.Compare(a.Proto, b.Proto), cmp.Compare(a.Stream, b.Stream))
}

func compareFindings(a, b *finding.Finding) int {
	return cmp.Or(
		cmp.Compare(a.Evidence.First, b.Evidence.First), cmp.Compare(a.Code, b.Code),
		compareIDs(a.Flow, b.Flow), a.Host.Compare(b.Host),
	)
}

// keeper keeps the summaries of the conversations that matter: all that have
// findings, and of the others the costliest and largest, up to a number.
type keeper struct {
	most int
	live bool // of those with findings the latest are kept, not the costliest
	rest weights
	seq  uint64
}

func newKeeper(most int) *keeper { return &keeper{most: most} }

type weighed struct {
	score, bytes uint64
	seq          uint64
	sum          *conn.Summary
}

// weights is a heap with the least weight first.
type weights []weighed

func (w weights) Len() int           { return len(w) }
func (w weights) Less(i, j int) bool { return w[i].less(&w[j]) }
func (w weights) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *weights) Push(x any)        { *w = append(*w, x.(weighed)) } //nolint:errcheck,forcetypeassert // container/heap
func (w *weights) Pop() any {
	old := *w
	x := old[len(old)-1]
	*w = old[:len(old)-1]
	return x
}

func (a *weighed) less(b *weighed) bool {
	return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.bytes, b.bytes), cmp.Compare(b.seq, a.seq)) < 0
}

func (k *keeper) add(s *conn.Summary) {
	k.seq++
	w := weighed{score: uint64(max(s.Score, 0)), bytes: s.Client.WireBytes + s.Server.WireBytes, seq: k.seq}
	if s.Findings > 0 { // has findings: rules will ask for it
		w.score += 1 << 62
		if k.live {
			w.score = 1<<62 + k.seq
		}
	}
	if len(k.rest) >= k.most {
		if !k.rest[0].less(&w) {
			return
		}
		*k.rest[0].sum = *s
		w.sum = k.rest[0].sum
		k.rest[0] = w
		heap.Fix(&k.rest, 0)
		return
	}
	w.sum = new(conn.Summary)
	*w.sum = *s
	heap.Push(&k.rest, w)
}

// list returns what was kept, by protocol and number. Only what is kept is given
// its community_id: a flood has millions of conversations, and each costs a hash.
func (k *keeper) list() []conn.Summary {
	all := make([]conn.Summary, 0, len(k.rest))
	for _, w := range k.rest {
		if w.sum.CommunityID == "" {
			w.sum.CommunityID = flow.CommunityID(w.sum.ID.Proto, w.sum.Client.Addr, w.sum.Server.Addr)
		}
		all = append(all, *w.sum)
	}
	slices.SortFunc(all, func(a, b conn.Summary) int { return compareIDs(a.ID, b.ID) })
	return all
}

// trust gathers from the conversations how far the capture can be believed.
type trust struct {
	connections, oneSided, midStream, gaps, copies uint64
	offload                                        bool
	client, server, middle                         uint64 // votes for where the tap is
}

func (t *trust) add(s *conn.Summary) {
	t.copies += s.Copies
	t.gaps += uint64(s.Client.Gaps) + uint64(s.Server.Gaps)
	t.offload = t.offload || s.Offload
	if s.Proto != "tcp" {
		return
	}
	if s.End != conn.EndNoAnswer { // a SYN that nobody answers is no half of a mirror
		t.connections++
		if s.OneSided {
			t.oneSided++
		}
	}
	if s.MidStream {
		t.midStream++
	}
	switch s.Vantage {
	case conn.AtClient:
		t.client++
	case conn.AtServer:
		t.server++
	case conn.Between:
		t.middle++
	}
}

func (t *trust) into(r *conn.Trust) {
	r.Duplicates, r.Gaps, r.Offload, r.BeginsMidConnection = t.copies, t.gaps, t.offload, t.midStream
	// A mirror that copies one direction shows nearly every connection so; a
	// few one-sided ones are scans and lost answers.
	r.OneSided = t.oneSided > 0 && t.oneSided*10 >= t.connections*9
	r.Vantage = conn.AnyPlace
	switch most := max(t.client, t.server, t.middle); {
	case most == 0:
	case most == t.client && t.client > t.server+t.middle:
		r.Vantage = conn.AtClient
	case most == t.server && t.server > t.client+t.middle:
		r.Vantage = conn.AtServer
	case most == t.middle && t.middle > t.client+t.server:
		r.Vantage = conn.Between
	}
}
