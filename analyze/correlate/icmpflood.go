package correlate

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"

	"netwhy/analyze/finding"
	"netwhy/analyze/proto"
)

// Routers and hosts have to limit the errors that they send (RFC 1812, 4.3.2.8; RFC
// 4443, 2.4: ten a second is its example, vendors allow one to fifty). A hundred within
// a second are sent by none that keeps to it.
const errorsPerSecond = 100

func errorFlood() finding.Def {
	return finding.Def{
		Code: ErrorFlood, Severity: finding.Warning,
		Doc: "One address sent a hundred ICMP errors or more within a second, unreachable or time exceeded: those who have to send such errors limit them (RFC 1812, 4.3.2.8; RFC 4443, 2.4). The finding's host is the one that sends.",
		Metrics: []finding.Metric{
			{Name: "receiver", Text: true, Doc: "who got the first of them"},
			{Name: "receivers", Merge: finding.Max, Doc: "different hosts that got them"},
			{Name: "errors", Merge: finding.Sum, Doc: "errors of this sender"},
			{Name: "peak_per_second", Merge: finding.Max, Doc: "most within a second"},
			{Name: "unasked", Merge: finding.Max, Doc: "share of them about packets that are not in the capture, 0 to 1"},
			{Name: "type", Doc: "ICMP type, of the first"},
			{Name: "icmp_code", Doc: "ICMP code, of the first"},
			{Name: "v6", Doc: "1 for ICMPv6"},
			{Name: "duration_seconds", Merge: finding.Max, Doc: "from the first to the last"},
		},
	}
}

// errorSender is an address that sends errors.
type errorSender struct {
	pace
	first         ICMPError
	from, to      int64 // times
	errors        uint64
	unasked       uint64
	receivers     map[netip.Addr]struct{}
	ev, inThisOne finding.Evidence // of the worst second, and of the one at hand
}

// sent counts an error for who sent it.
func (x *icmpErrors) sent(ev *proto.Event, e *ICMPError) {
	if e.Type == redirect4 && !e.V6 || e.Type == redirect6 && e.V6 || !e.From.IsValid() {
		return
	}
	s := x.senders[e.From]
	if s == nil {
		if len(x.senders) >= maxErrors {
			return
		}
		s = &errorSender{first: *e, from: ev.Time, receivers: map[netip.Addr]struct{}{}}
		x.senders[e.From] = s
	}
	if ev.Time/second != s.second {
		s.inThisOne = finding.Evidence{}
	}
	peak := s.peak
	s.tick(ev.Time)
	if s.inThisOne.Add(ev.Frame, ev.Time); s.peak > peak {
		s.ev = s.inThisOne
	}
	s.errors++
	s.to = ev.Time
	if e.SentTTL == 0 {
		s.unasked++
	}
	if len(s.receivers) < maxTracks {
		s.receivers[e.To] = struct{}{}
	}
}

// floods tells who sent too many.
func (x *icmpErrors) floods(o *Out) {
	senders := slices.SortedFunc(maps.Keys(x.senders), func(a, b netip.Addr) int {
		return cmp.Or(cmp.Compare(x.senders[a].ev.First, x.senders[b].ev.First), a.Compare(b))
	})
	for _, from := range senders {
		s := x.senders[from]
		if s.peak < errorsPerSecond {
			continue
		}
		s.ev.Frames = slices.Clone(s.ev.Frames)
		o.Emit(finding.Finding{
			Code: ErrorFlood, Severity: finding.Warning, Host: from, Evidence: s.ev,
			Values: []finding.Value{
				finding.Text(s.first.To.String()), finding.Num(len(s.receivers)), finding.Num(s.errors), finding.Num(s.peak),
				finding.Num(float64(s.unasked) / float64(s.errors)), finding.Num(s.first.Type), finding.Num(s.first.Code),
				flag(s.first.V6), finding.Num(float64(s.to-s.from) / float64(second)),
			},
		})
	}
}
