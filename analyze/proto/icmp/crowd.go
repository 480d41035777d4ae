package icmp

import (
	"cmp"
	"net/netip"
	"slices"

	"netwhy/analyze/finding"
	"netwhy/analyze/proto"
)

// Codes of queries in numbers.
const (
	Flood   finding.Code = "icmp.flood"
	Sweep   finding.Code = "icmp.sweep"
	Unasked finding.Code = "icmp.unasked-replies"
)

// Queries that are no echo (RFC 792): a reply has the next number.
const (
	timestamp4, information4, mask4 = 13, 15, 17
)

const (
	// Without answers ping -f sends a hundred a second, and nothing that watches a
	// host sends half as many: twice that is a flood.
	floodPerSecond = 200
	floodAnswered  = 0.1 // share of requests with a reply
	// Twenty hosts asked of which four in five are not there: whoever watches hosts
	// knows that they exist.
	sweepTargets  = 20
	sweepAnswered = 0.2
	// Replies that nobody asked for, of twenty hosts and fifty a second: those to a
	// ping of a whole network by hand come once a second from each.
	strangers              = 20
	unaskedPerSecond       = 50
	maxHosts               = 1 << 12 // of one series that are told apart
	maxSeries              = 1 << 12
	second           int64 = 1e9
)

// rate counts by the second.
type rate struct {
	from           int64 // of the second that is counted
	inSecond, peak uint64
}

func (r *rate) add(at int64) {
	if at-r.from >= second || at < r.from {
		r.from, r.inSecond = at, 0
	}
	r.inSecond++
	r.peak = max(r.peak, r.inSecond)
}

// series is what one host gets, or asks of others.
type series struct {
	rate
	sent, answered uint64
	bytes          uint64
	hosts          map[netip.Addr]bool // the other ends, and whether they answered
	ev             finding.Evidence
}

// crowd gathers queries by target, by asker, and replies by whom they reach.
type crowd struct {
	targets, askers, reached map[netip.Addr]*series
}

func newCrowd() crowd {
	return crowd{map[netip.Addr]*series{}, map[netip.Addr]*series{}, map[netip.Addr]*series{}}
}

func of(m map[netip.Addr]*series, a netip.Addr) *series {
	x := m[a]
	if x == nil && len(m) < maxSeries {
		x = &series{hosts: map[netip.Addr]bool{}}
		m[a] = x
	}
	return x
}

func (x *series) add(s *proto.Scope, other netip.Addr, n uint32) {
	if x == nil {
		return
	}
	x.rate.add(s.Now())
	x.sent++
	x.bytes += uint64(n)
	if _, known := x.hosts[other]; !known && len(x.hosts) < maxHosts {
		x.hosts[other] = false
	}
	x.ev.Add(s.Frame(), s.Now())
}

// query tells whether a message asks, and whether it answers.
func query(b []byte) (asks, answers bool) {
	switch b[0] {
	case request4, request6, timestamp4, information4, mask4:
		return true, false
	case reply4, reply6, timestamp4 + 1, information4 + 1, mask4 + 1:
		return false, true
	}
	return false, false
}

func (c *crowd) take(s *proto.Scope, from, to netip.Addr, b []byte) {
	if to.IsMulticast() {
		return
	}
	asks, answers := query(b)
	n := s.Packet().PayloadLen
	if asks {
		of(c.targets, to).add(s, from, n)
		of(c.askers, from).add(s, to, n)
	}
	if !answers {
		return
	}
	if x := c.targets[from]; x != nil {
		x.answered++
	}
	asked := false
	if x := c.askers[to]; x != nil {
		if _, asked = x.hosts[from]; asked {
			x.hosts[from] = true
		}
	}
	if !asked {
		of(c.reached, to).add(s, from, n)
	}
}

// end tells what was too much, in the order of first frames.
func (c *crowd) end(s *proto.Scope) {
	each(c.targets, func(a netip.Addr, x *series) {
		if x.peak < floodPerSecond || float64(x.answered) > floodAnswered*float64(x.sent) {
			return
		}
		source := ""
		if len(x.hosts) == 1 {
			for h := range x.hosts {
				source = h.String()
			}
		}
		s.ReportEvidence(a, Flood, x.ev, finding.Text(source), finding.Num(len(x.hosts)), finding.Num(x.sent),
			finding.Num(x.answered), finding.Num(x.peak), finding.Num(x.bytes), finding.Num(x.seconds()))
	})
	each(c.askers, func(a netip.Addr, x *series) {
		there := 0
		for _, answered := range x.hosts {
			if answered {
				there++
			}
		}
		if len(x.hosts) < sweepTargets || float64(there) > sweepAnswered*float64(len(x.hosts)) {
			return
		}
		if float64(x.sent) > maxTries*float64(len(x.hosts)) {
			return
		}
		s.ReportEvidence(a, Sweep, x.ev, finding.Num(len(x.hosts)), finding.Num(there), finding.Num(x.sent), finding.Num(x.seconds()))
	})
	each(c.reached, func(a netip.Addr, x *series) {
		if len(x.hosts) >= strangers && float64(x.sent) >= unaskedPerSecond*max(x.seconds(), 1) {
			s.ReportEvidence(a, Unasked, x.ev, finding.Num(len(x.hosts)), finding.Num(x.sent), finding.Num(x.bytes), finding.Num(x.seconds()))
		}
	})
}

// maxTries bounds the requests a target of somebody who looks who is there; more
// are sent by those who wait for hosts that are down.
const maxTries = 5

func (x *series) seconds() float64 { return float64(x.ev.End-x.ev.Start) / float64(second) }

func each(m map[netip.Addr]*series, f func(netip.Addr, *series)) {
	var order []netip.Addr
	for a := range m {
		order = append(order, a)
	}
	slices.SortFunc(order, func(a, b netip.Addr) int {
		return cmp.Or(cmp.Compare(m[a].ev.First, m[b].ev.First), a.Compare(b))
	})
	for _, a := range order {
		f(a, m[a])
	}
}

func crowdCodes() []finding.Def {
	duration := finding.Metric{Name: "duration_seconds", Merge: finding.Max, Doc: "from the first to the last"}
	return []finding.Def{
		{
			Code: Flood, Severity: finding.Warning,
			Doc: "A host gets two hundred ICMP queries or more within a second and answers hardly any. The finding's host is the target.",
			Metrics: []finding.Metric{
				{Name: "source", Text: true, Doc: "who sends; empty: several"},
				{Name: "sources", Merge: finding.Max, Doc: "different senders"},
				{Name: "queries", Merge: finding.Sum, Doc: "queries"},
				{Name: "answered", Merge: finding.Sum, Doc: "of these answered"},
				{Name: "peak_per_second", Merge: finding.Max, Doc: "most within a second"},
				{Name: "bytes", Merge: finding.Sum, Doc: "their data"},
				duration,
			},
		},
		{
			Code: Sweep, Severity: finding.Notice,
			Doc: "A host sent ICMP queries to twenty others or more of which at most one in five answered: it looks who is there. The finding's host is the one that asks.",
			Metrics: []finding.Metric{
				{Name: "targets", Merge: finding.Max, Doc: "hosts asked"},
				{Name: "answered", Merge: finding.Max, Doc: "of these there"},
				{Name: "queries", Merge: finding.Sum, Doc: "queries"},
				duration,
			},
		},
		{
			Code: Unasked, Severity: finding.Warning,
			Doc: "Twenty hosts or more send a host ICMP replies that it did not ask them for: somebody asks in its name, most often a whole network at once (RFC 2644). The finding's host is the victim.",
			Metrics: []finding.Metric{
				{Name: "reflectors", Merge: finding.Max, Doc: "hosts that answer"},
				{Name: "replies", Merge: finding.Sum, Doc: "replies"},
				{Name: "bytes", Merge: finding.Sum, Doc: "their data"},
				duration,
			},
		},
	}
}
