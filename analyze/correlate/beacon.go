package correlate

import (
	"math"
	"net/netip"
	"slices"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/hosts"
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
	beaconShortest    = second  // faster is a loop that waits for its answer
	maxStarts         = 512     // of one series
	maxAllStarts      = 1 << 19 // of all
	maxSessions       = 1 << 12
)

// Channels finds connections that a timer makes, and routing sessions that end.
func Channels() Spec {
	return Spec{
		Name: "channels", Doc: "connections made by a timer, routing sessions that end",
		New: func() Correlator { return &channels{} },
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

// started is one connection of a series.
type started struct {
	at, stop int64
	frame    uint64
	size     uint64 // bytes from the client
	before   uint32 // number of the one noted before it; 0: none
}

// series are the connections of one client to one service.
type series struct {
	client, server hosts.Number
	port           uint16
	app            uint16 // number of the protocol; 0: not recognised
	last           uint32 // place of the connection noted last
	n              uint32
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
	series   cases[series]
	starts   pages[started]
	apps     []string
	sessions []session
}

// Conn notes when connections begin.
func (c *channels) Conn(_ *Out, s *Folded) {
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
	c.note(s)
}

// note keeps when a connection began.
func (c *channels) note(s *Folded) {
	port := s.Server.Addr.Port()
	x, _ := c.series.entry(channel(s.From, s.To, port), maxPairs)
	if x == nil {
		return
	}
	x.client, x.server, x.port = s.From, s.To, port
	if x.n >= maxStarts || c.starts.len() >= maxAllStarts {
		return
	}
	x.last = c.starts.add(started{at: s.Start, stop: s.Stop, frame: s.First, size: s.Client.Unique, before: x.last})
	x.n++
	if x.app == 0 && s.App != "" {
		x.app = c.app(s.App)
	}
}

// channel is the key of a client and a service.
func channel(client, server hosts.Number, port uint16) uint64 {
	if k := pair(client, server); k != 0 {
		return k<<portBits | uint64(port)
	}
	return 0
}

// app numbers the names of protocols: there are some dozens.
func (c *channels) app(name string) uint16 {
	i := slices.Index(c.apps, name)
	if i < 0 {
		i = len(c.apps)
		c.apps = append(c.apps, name)
	}
	return uint16(i + 1) //nolint:gosec // as many as there are analyzers
}

// End tells what is too steady, or over.
func (c *channels) End(o *Out) {
	for x := range c.series.all.each() {
		if x.n >= beaconConnections {
			c.beacon(o, x)
		}
	}
	c.ended(o)
}

func (c *channels) beacon(o *Out, x *series) {
	var ev evidence
	var frames trail
	at, size := make([]int64, 0, x.n), map[uint64]int{}
	numbers := make([]uint32, 0, x.n)
	for n := x.last; n != 0; n = c.starts.at(n).before {
		numbers = append(numbers, n)
	}
	for _, n := range slices.Backward(numbers) {
		s := c.starts.at(n)
		at = append(at, s.at)
		size[s.size]++
		ev.add(&frames, s.frame, s.at, s.stop)
	}
	slices.Sort(at)
	gaps := make([]float64, len(at)-1)
	for i := range gaps {
		gaps[i] = float64(at[i+1] - at[i])
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
	app := ""
	if x.app != 0 {
		app = c.apps[x.app-1]
	}
	same := 0
	for _, n := range size {
		same = max(same, n)
	}
	o.Emit(finding.Finding{
		Code: Beacon, Severity: finding.Info, Host: o.Hosts.Addr(x.client), Evidence: ev.done(&frames),
		Values: []finding.Value{
			finding.Text(netip.AddrPortFrom(o.Hosts.Addr(x.server), x.port).String()), finding.Text(app), finding.Num(len(at)), finding.Num(mid / second),
			finding.Num(100 * spread), finding.Num(100 * float64(same) / float64(len(at))),
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
