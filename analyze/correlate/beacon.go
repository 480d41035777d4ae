package correlate

import (
	"math"
	"net/netip"
	"slices"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// Codes of connections that a timer makes, and of sessions that end.
const (
	Beacon       finding.Code = "beacon.periodic"
	SessionEnded finding.Code = "bgp.session-ended"
)

const (
	// People and programs that react to people are irregular: the spread of
	// their pauses is about as large as the pauses. A timer's is a few percent.
	// Eight connections leave seven pauses: chance makes that one time in
	// millions.
	beaconConnections = 8
	beaconSpread      = 0.1
	beaconShortest    = second // faster is a loop that waits for its answer
	maxStarts         = 512
	maxSessions       = 1 << 12
)

// Channels finds connections that a timer makes, and routing sessions that end.
func Channels() Spec {
	return Spec{
		Name: "channels", Doc: "connections made by a timer, routing sessions that end",
		New: func() Correlator {
			return &channels{starts: map[tryKey]*starts{}}
		},
		Codes: []finding.Def{
			{
				Code: Beacon, Severity: finding.Info,
				Doc: "A client opens connections to one service at steady intervals, eight or more. Monitoring and polling do that, and so does malware that asks for orders. The finding's host is the client.",
				Metrics: []finding.Metric{
					{Name: "server", Text: true, Doc: "address and port of the service"},
					{Name: "app", Text: true, Doc: "protocol recognised"},
					{Name: "connections", Merge: finding.Max, Doc: "connections"},
					{Name: "interval_seconds", Merge: finding.Max, Doc: "median of the time from one to the next"},
					{Name: "spread_percent", Merge: finding.Max, Doc: "median deviation from it"},
					{Name: "same_size", Merge: finding.Max, Doc: "share of connections with the most frequent number of bytes from the client, percent"},
				},
			},
			{
				Code: SessionEnded, Severity: finding.Notice,
				Doc: "A BGP session that exchanged messages was closed or reset in the capture: routes learned by it are lost until it is up again.",
				Metrics: []finding.Metric{
					{Name: "end", Text: true, Doc: "fin, half or reset"},
					{Name: "duration_seconds", Merge: finding.Max, Doc: "of the session as far as it is in the capture"},
					{Name: "reopened", Merge: finding.Max, Doc: "1 when the same two routers connected again"},
				},
			},
		},
	}
}

// starts are the begins of connections of one client to one service.
type starts struct {
	at   []int64
	size map[uint64]int
	ev   evidence
	app  string
}

type session struct {
	id    flow.ID
	a, b  netip.Addr
	end   conn.End
	start int64
	stop  int64
	first uint64
	last  uint64
	spoke bool
}

type channels struct {
	starts   map[tryKey]*starts
	sessions []session
}

// Event does nothing: conversations tell all.
func (*channels) Event(*Out, *proto.Event) {}

// Conn notes when connections begin.
func (c *channels) Conn(_ *Out, s *conn.Summary) {
	if s.ID.Proto != flow.TCP || s.SYNs == 0 && s.App != "bgp" {
		return
	}
	if s.App == "bgp" && len(c.sessions) < maxSessions {
		c.sessions = append(c.sessions, session{
			id: s.ID, a: s.Client.Addr.Addr(), b: s.Server.Addr.Addr(), end: s.End, start: s.Start, stop: s.Stop,
			first: s.First, last: max(s.EndFrame, s.Last), spoke: s.Client.Bytes > 0 && s.Server.Bytes > 0,
		})
	}
	if !s.Established {
		return
	}
	k := tryKey{s.Client.Addr.Addr(), s.Server.Addr, ""}
	x := entry(c.starts, k, func() *starts { return &starts{size: map[uint64]int{}} })
	if x == nil {
		return
	}
	if len(x.at) < maxStarts {
		x.at = append(x.at, s.Start)
		x.size[s.Client.Unique]++
		x.ev.add(s.First, s.Start, s.Stop)
		if x.app == "" {
			x.app = s.App
		}
	}
}

// End tells what is too steady, or over.
func (c *channels) End(o *Out) {
	for k, x := range c.starts {
		x.beacon(o, k)
	}
	c.ended(o)
}

func (x *starts) beacon(o *Out, k tryKey) {
	if len(x.at) < beaconConnections {
		return
	}
	slices.Sort(x.at)
	gaps := make([]float64, len(x.at)-1)
	for i := range gaps {
		gaps[i] = float64(x.at[i+1] - x.at[i])
	}
	mid := median(gaps)
	if mid < beaconShortest {
		return
	}
	for i := range gaps {
		gaps[i] = math.Abs(gaps[i] - mid)
	}
	spread := median(gaps) / mid
	if spread > beaconSpread {
		return
	}
	same := 0
	for _, n := range x.size {
		same = max(same, n)
	}
	o.Emit(finding.Finding{
		Code: Beacon, Severity: finding.Info, Host: k.client, Evidence: x.ev.done(),
		Values: []finding.Value{
			finding.Text(k.server.String()), finding.Text(x.app), finding.Num(len(x.at)), finding.Num(mid / second),
			finding.Num(100 * spread), finding.Num(100 * float64(same) / float64(len(x.at))),
		},
	})
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return s[len(s)/2]
}

func (c *channels) ended(o *Out) {
	for i := range c.sessions {
		s := &c.sessions[i]
		if !s.spoke || s.end != conn.EndFin && s.end != conn.EndReset && s.end != conn.EndHalf {
			continue
		}
		again := false
		for j := range c.sessions {
			t := &c.sessions[j]
			again = again || t.start > s.stop && (t.a == s.a && t.b == s.b || t.a == s.b && t.b == s.a)
		}
		var ev finding.Evidence
		ev.Add(s.first, s.start)
		ev.Add(s.last, s.stop)
		ev.Count = 1
		o.Emit(finding.Finding{
			Code: SessionEnded, Severity: finding.Notice, Flow: s.id, Evidence: ev,
			Values: []finding.Value{finding.Text(string(s.end)), finding.Num(float64(s.stop-s.start) / second), flag(again)},
		})
	}
}
