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

// started is one connection of a client to a service. Those of one pair are a series:
// most have a single one, so that there is no record of the series itself.
type started struct {
	series   uint64 // key
	at, stop int64
	frame    uint64
	size     uint64 // bytes from the client
	before   uint32 // place of the one noted before it; 0: none
	n        uint16 // connections of the series, with this one
	app      uint16 // number of the protocol; 0: not recognised
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
	last     hosts.Table[uint32] // place of a series' connection noted last
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
	k := channel(s.From, s.To, s.Server.Addr.Port())
	last := c.last.Get(k)
	n := uint16(0)
	switch {
	case k == 0, c.starts.len() >= maxAllStarts:
		return
	case last != 0:
		n = c.starts.at(last).n
	case c.last.Len() >= maxPairs:
		return
	}
	if n >= maxStarts {
		return
	}
	*c.last.At(k) = c.starts.add(started{
		series: k, at: s.Start, stop: s.Stop, frame: s.First, size: s.Client.Unique, before: last, n: n + 1, app: c.app(s.App),
	})
}

// channel is the key of a client and a service.
func channel(client, server hosts.Number, port uint16) uint64 {
	if k := pair(client, server); k != 0 {
		return k<<portBits | uint64(port)
	}
	return 0
}

// channelOf is its inverse.
func channelOf(k uint64) (client, server hosts.Number, port uint16) {
	return hosts.Number(k >> (hosts.Bits + portBits)), hosts.Number(k >> portBits & hosts.Most), uint16(k) //nolint:gosec // parts of the key
}

// app numbers the names of protocols: there are some dozens.
func (c *channels) app(name string) uint16 {
	if name == "" {
		return 0
	}
	i := slices.Index(c.apps, name)
	if i < 0 {
		i = len(c.apps)
		c.apps = append(c.apps, name)
	}
	return uint16(i + 1) //nolint:gosec // as many as there are analyzers
}

// End tells what is too steady, or over.
func (c *channels) End(o *Out) {
	for x := range c.starts.each() {
		if x.n == beaconConnections {
			c.beacon(o, x.series)
		}
	}
	c.ended(o)
}

func (c *channels) beacon(o *Out, series uint64) {
	var ev evidence
	var frames trail
	var all []*started
	app := uint16(0) // that was recognised first
	for n := c.last.Get(series); n != 0; {
		s := c.starts.at(n)
		all = append(all, s)
		if s.app != 0 {
			app = s.app
		}
		n = s.before
	}
	at, size := make([]int64, 0, len(all)), map[uint64]int{}
	for _, s := range slices.Backward(all) {
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
	name := ""
	if app != 0 {
		name = c.apps[app-1]
	}
	same := 0
	for _, n := range size {
		same = max(same, n)
	}
	client, server, port := channelOf(series)
	o.Emit(finding.Finding{
		Code: Beacon, Severity: finding.Info, Host: o.Hosts.Addr(client), Evidence: ev.done(&frames),
		Values: []finding.Value{
			finding.Text(netip.AddrPortFrom(o.Hosts.Addr(server), port).String()), finding.Text(name), finding.Num(len(at)), finding.Num(mid / second),
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
