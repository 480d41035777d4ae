package analyze

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sort"

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
	Connections      []*conn.Summary   // by protocol and number: those with findings, and the costliest and largest
	Standing         []*conn.Summary   // of a moment of a live run: those not yet folded, as far as they are in Connections
	Briefs           []conn.Brief      // by protocol and number: those with findings for whose summaries there was no room
	Trust            conn.Trust
	Names            map[netip.Addr]string // that lookups gave to addresses; hostile
	Malformed        map[string]uint64     // conversations with broken bytes, by protocol and reason
	NotAssessed      []string              // what could not be judged, and why
	Open             uint64                // conversations that are open, at a moment of a live run
	Evicted          uint64                // conversations forgotten early for want of memory
	Unread           uint64                // segments and datagrams whose payload was left out under pressure (live)
	Shed             uint64                // findings left out for want of memory

	ids      []uint64             // of Connections, by flow.ID.Key; nil: not known
	overfull bool                 // there were more conversations than summaries are kept
	quoted   map[flow.ID]struct{} // conversations seen in ICMP errors only
	foreign  map[string]struct{}  // protocols that were read on ports where Protocols does not count them
}

// Bounds of the addresses that are named, and of the conversations that are known
// to be quoted only.
const (
	maxNames  = 1 << 16
	maxQuoted = 1 << 16
)

func newResult() *Result {
	return &Result{Protocols: map[string]uint64{}, Names: map[netip.Addr]string{}, Malformed: map[string]uint64{}, quoted: map[flow.ID]struct{}{}, foreign: map[string]struct{}{}}
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
	if len(r.ids) == len(r.Connections) {
		if i, found := slices.BinarySearch(r.ids, id.Key()); found {
			return r.Connections[i]
		}
		return nil
	}
	i := sort.Search(len(r.Connections), func(i int) bool { return compareIDs(r.Connections[i].ID, id) >= 0 })
	if i == len(r.Connections) || r.Connections[i].ID != id {
		return nil
	}
	return r.Connections[i]
}

// Forgotten returns what is left of a conversation whose summary was not kept for
// want of room, as far as it has findings. Its ends are not valid where nothing is
// left. A conversation that never had a summary, such as one that is only quoted
// in an ICMP error, is not forgotten.
func (r *Result) Forgotten(id flow.ID) (conn.Brief, bool) {
	if i := sort.Search(len(r.Briefs), func(i int) bool { return compareIDs(r.Briefs[i].ID, id) >= 0 }); i < len(r.Briefs) && r.Briefs[i].ID == id {
		return r.Briefs[i], true
	}
	if _, quoted := r.quoted[id]; quoted || !r.overfull || r.Connection(id) != nil {
		return conn.Brief{}, false
	}
	return conn.Brief{ID: id}, true
}

// opaque are protocols whose payload cannot be read from outside.
var opaque = map[string]string{ //nolint:gochecknoglobals // constant table
	"tls": "encrypted", "quic": "encrypted", "dtls": "encrypted", "ssh": "encrypted", "esp": "encrypted",
	"wg": "encrypted", "openvpn": "encrypted", "isakmp": "encrypted",
}

// finish derives what is known only at the end.
func (r *Result) finish() {
	r.NotAssessed = nil
	maps.DeleteFunc(r.Protocols, func(_ string, n uint64) bool { return n == 0 }) // named, and taken back
	for name, why := range opaque {
		if _, foreign := r.foreign[name]; foreign || r.Protocols[name] > 0 {
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
	if c := cmp.Compare(a.Evidence.First, b.Evidence.First); c != 0 { // nearly always
		return c
	}
	return cmp.Or(cmp.Compare(a.Code, b.Code), compareIDs(a.Flow, b.Flow), a.Host.Compare(b.Host))
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
