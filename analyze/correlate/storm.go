package correlate

import (
	"net/netip"

	"netwhy/analyze/finding"
	"netwhy/analyze/proto"
)

// Codes of broadcasts.
const (
	RepeatedBroadcast finding.Code = "broadcast.repeated"
	BroadcastRate     finding.Code = "broadcast.rate"
)

const (
	// A station repeats the very same broadcast a few times a second at most
	// (ARP: once a second, RFC 826 hosts; DHCP: once in four seconds, RFC 2131,
	// 4.1). A loop brings it back as fast as the switches forward.
	repeatsPerSecond = 50
	// Broadcasts reach every host of the link. Above this rate they cost each of
	// them noticeable time, and no set of healthy hosts of one link asks so much.
	broadcastsPerSecond = 200
	second              = 1_000_000_000
)

// Repeated is published by the lanes when the same broadcast or multicast frame
// came by again, each time that the number of its copies has doubled.
type Repeated struct {
	Src   [6]byte
	Times uint64 // copies within the last second
	ARP   bool
}

// Rate is published by the collector for each second of the capture that ended
// with broadcasts in it.
type Rate struct {
	First      uint64 // frame
	Last       uint64
	Start      int64
	Frames     uint64 // in this second
	Broadcasts uint64 // of these to all stations
}

// Storm finds broadcast storms.
func Storm() Spec {
	return Spec{
		Name: "storm", Doc: "broadcast storms: the same frame again and again, or far too many",
		New: func() Correlator { return &storm{} },
		Codes: []finding.Def{
			{
				Code: RepeatedBroadcast, Severity: finding.Warning,
				Doc: "The same broadcast frame came by at least 50 times within a second: it goes in a circle between switches.",
				Metrics: []finding.Metric{
					{Name: "source_mac", Text: true, Doc: "of a frame that repeats"},
					{Name: "peak_per_second", Merge: finding.Max, Doc: "most copies of one frame within a second"},
					{Name: "sources", Merge: finding.Max, Doc: "different stations whose frames repeat"},
					{Name: "arp", Merge: finding.Max, Doc: "1 when ARP requests are among them"},
				},
			},
			{
				Code: BroadcastRate, Severity: finding.Notice,
				Doc: "More than 200 broadcast frames came within a second.",
				Metrics: []finding.Metric{
					{Name: "peak_per_second", Merge: finding.Max, Doc: "most broadcasts within a second"},
					{Name: "seconds", Merge: finding.Max, Doc: "number of such seconds"},
					{Name: "share_percent", Merge: finding.Max, Doc: "of all frames in the worst second"},
				},
			},
		},
	}
}

type storm struct {
	ev      finding.Evidence
	worst   Repeated
	sources map[[6]byte]struct{}
	arp     bool

	rate    finding.Evidence
	peak    Rate
	seconds uint64
}

// Hears implements Listener.
func (*storm) Hears() []any { return []any{(*Repeated)(nil), (*Rate)(nil)} }

// Event takes repeated frames and rates.
func (s *storm) Event(_ *Out, e *proto.Event) {
	switch b := e.Body.(type) {
	case *Repeated:
		if b.Times < repeatsPerSecond {
			return
		}
		if s.sources == nil {
			s.sources = map[[6]byte]struct{}{}
		}
		if len(s.sources) < maxTracks {
			s.sources[b.Src] = struct{}{}
		}
		s.arp = s.arp || b.ARP
		if b.Times > s.worst.Times {
			s.worst = *b
		}
		s.ev.Add(e.Frame, e.Time)
	case *Rate:
		if b.Broadcasts < broadcastsPerSecond {
			return
		}
		if b.Broadcasts > s.peak.Broadcasts {
			s.peak = *b
		}
		s.seconds++
		s.rate.Add(b.First, b.Start)
		s.rate.Add(b.Last, b.Start+second)
	}
}

// End reports a storm.
func (s *storm) End(o *Out) {
	if s.ev.Count > 0 {
		o.Emit(finding.Finding{
			Code: RepeatedBroadcast, Severity: finding.Warning, Host: netip.Addr{}, Evidence: s.ev,
			Values: []finding.Value{finding.Text(text(s.worst.Src)), finding.Num(s.worst.Times), finding.Num(len(s.sources)), flag(s.arp)},
		})
	}
	if s.rate.Count > 0 {
		share := 100 * float64(s.peak.Broadcasts) / float64(max(s.peak.Frames, 1))
		o.Emit(finding.Finding{
			Code: BroadcastRate, Severity: finding.Notice, Evidence: s.rate,
			Values: []finding.Value{finding.Num(s.peak.Broadcasts), finding.Num(s.seconds), finding.Num(share)},
		})
	}
}
