package correlate

import (
	"net/netip"

	"netwhy/analyze/finding"
	"netwhy/analyze/proto"
)

// Codes of IP fragments.
const (
	FragmentOverlap finding.Code = "fragments.overlap"
	FragmentFlood   finding.Code = "fragments.flood"
)

// Fragments is published by the first lane when a fragment was odd, and now and
// then; the numbers are those of the capture so far.
type Fragments struct {
	From, To                       netip.Addr
	V6, Odd                        bool
	Fragments, Whole, Tiny         uint64
	Conflicts, Overlaps, Malformed uint64
}

const (
	// Links cut at 576 bytes or more: fifty pieces that are smaller, in front of
	// others, are made so.
	tinyFragments = 50
	// A datagram has at most 45 fragments of 1480 bytes: a hundred without a
	// single whole datagram are none that got lost.
	vainFragments = 64
	// and hardly any of them make a datagram: a path that cuts very small makes
	// seven of a full frame.
	wholeFragments = 20
)

// Fragmented finds fragments that nobody can use.
func Fragmented() Spec {
	return Spec{
		Name: "fragments", Doc: "fragments that overlap, and fragments that are never whole",
		New: func() Correlator { return &fragmented{} },
		Codes: []finding.Def{
			{
				Code: FragmentOverlap, Severity: finding.Notice,
				Doc: "Fragments cover each other in part, disagree, or have impossible lengths: hosts must drop them (RFC 5722; RFC 8200, 4.5), and those who do not are deceived (RFC 1858).",
				Metrics: []finding.Metric{
					{Name: "from", Text: true, Doc: "sender of the first"},
					{Name: "to", Text: true, Doc: "its receiver"},
					{Name: "conflicts", Doc: "fragments with other bytes for the same place"},
					{Name: "overlaps", Doc: "fragments that repeat a part of others"},
					{Name: "malformed", Doc: "fragments of impossible length or place"},
					{Name: "ipv6", Doc: "1 for IPv6"},
				},
			},
			{
				Code: FragmentFlood, Severity: finding.Notice,
				Doc: "Fragments come that are smaller than links make them, or never become a whole datagram: the receiver keeps them in vain (RFC 1858; RFC 4459).",
				Metrics: []finding.Metric{
					{Name: "from", Text: true, Doc: "sender of the last seen"},
					{Name: "to", Text: true, Doc: "its receiver"},
					{Name: "fragments", Doc: "fragments"},
					{Name: "whole", Doc: "datagrams that they made"},
					{Name: "tiny", Doc: "fragments below 256 bytes that others follow"},
				},
			},
		},
	}
}

type fragmented struct {
	odd, all finding.Evidence
	first    Fragments
	last     Fragments
}

// Hears implements Listener.
func (*fragmented) Hears() []any { return []any{(*Fragments)(nil)} }

// Event takes fragments.
func (f *fragmented) Event(_ *Out, e *proto.Event) {
	x, ok := e.Body.(*Fragments)
	if !ok {
		return
	}
	f.last = *x
	f.all.Add(e.Frame, e.Time)
	if x.Odd {
		if f.odd.Count == 0 {
			f.first = *x
		}
		f.odd.Add(e.Frame, e.Time)
	}
}

// End tells what is odd or in vain.
func (f *fragmented) End(o *Out) {
	x := &f.last
	if f.odd.Count > 0 {
		o.Emit(finding.Finding{
			Code: FragmentOverlap, Severity: finding.Notice, Host: f.first.To, Evidence: f.odd,
			Values: []finding.Value{
				finding.Text(f.first.From.String()), finding.Text(f.first.To.String()), finding.Num(x.Conflicts),
				finding.Num(x.Overlaps), finding.Num(x.Malformed), flag(f.first.V6),
			},
		})
	}
	if x.Tiny >= tinyFragments && x.Whole*wholeFragments < x.Fragments || x.Fragments >= vainFragments && x.Whole == 0 {
		o.Emit(finding.Finding{
			Code: FragmentFlood, Severity: finding.Notice, Host: x.To, Evidence: f.all,
			Values: []finding.Value{
				finding.Text(x.From.String()), finding.Text(x.To.String()), finding.Num(x.Fragments), finding.Num(x.Whole), finding.Num(x.Tiny),
			},
		})
	}
}
