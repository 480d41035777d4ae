package ppp

import (
	"bytes"
	"encoding/binary"
	"maps"
	"net/netip"
	"slices"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
)

// Codes of PPPoE discovery.
const (
	NoOffer         finding.Code = "pppoe.no-offer"
	DiscoveryFailed finding.Code = "pppoe.refused"
)

// Codes of discovery packets (RFC 2516, 5) and the tags in them that refuse (RFC
// 2516, appendix A).
const (
	padi, pado, padr, pads, padt                    = 0x09, 0x07, 0x19, 0x65, 0xa7
	tagServiceName, tagConcentrator, tagGenericFail = 0x0201, 0x0202, 0x0203
)

const (
	typeDiscovery = 0x8863
	pppoeHead     = 6
	// One or two are lost; clients wait some seconds and twice as long each time
	// (RFC 2516, 8).
	lostOffers = 3
)

// Discovery declares the analyzer of PPPoE's first stage.
func Discovery() proto.Spec {
	return proto.Spec{
		Name: "pppoed", Doc: "PPPoE Discovery, RFC 2516",
		Carrier: proto.Link, Numbers: []uint16{typeDiscovery},
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			if len(b) >= pppoeHead && b[0] == 0x11 {
				return proto.Certain
			}
			return proto.No
		},
		New: func() proto.Analyzer { return &discovery{asked: map[[6]byte]*finding.Evidence{}} },
		Codes: []finding.Def{
			{
				Code: NoOffer, Severity: finding.Notice,
				Doc: "A client looks for an access concentrator, three times or more, and none answers (RFC 2516, 5.1).",
				Metrics: []finding.Metric{
					{Name: "client_mac", Text: true, Doc: "who looks"},
					{Name: "attempts", Merge: finding.Max, Doc: "initiations in a row"},
				},
			},
			{
				Code: DiscoveryFailed, Severity: finding.Notice,
				Doc: "The access concentrator refuses a session (RFC 2516, appendix A).",
				Metrics: []finding.Metric{
					{Name: "client_mac", Text: true, Doc: "who asked"},
					{Name: "reason", Text: true, Doc: "meaning of the tag"},
					{Name: "message", Text: true, Doc: "the concentrator's words"},
					{Name: "times", Merge: finding.Sum, Doc: "times"},
				},
			},
		},
	}
}

// discovery is who looks and was not answered yet.
type discovery struct{ asked map[[6]byte]*finding.Evidence }

// Data takes one packet.
func (d *discovery) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	p := s.Packet()
	if p == nil || s.Duplicate() {
		return len(b), nil
	}
	src, dst, _ := p.MACs(s.Bytes())
	switch b[1] {
	case padi:
		ev := d.asked[src]
		if ev == nil && len(d.asked) < maxLinks {
			ev = &finding.Evidence{}
			d.asked[src] = ev
		}
		if ev != nil {
			ev.Add(s.Frame(), s.Now())
		}
	case pado, pads, padt:
		delete(d.asked, dst)
	case padr:
		delete(d.asked, src)
	}
	tags := b[pppoeHead:]
	tags = tags[:min(len(tags), int(binary.BigEndian.Uint16(b[4:])))]
	for len(tags) >= 4 {
		n := 4 + int(binary.BigEndian.Uint16(tags[2:]))
		if n > len(tags) {
			break
		}
		reason := ""
		switch binary.BigEndian.Uint16(tags) {
		case tagServiceName:
			reason = "service not offered"
		case tagConcentrator:
			reason = "concentrator cannot serve"
		case tagGenericFail:
			reason = "refused"
		}
		if reason != "" {
			s.Report(DiscoveryFailed, finding.Text(proto.MACText(dst)), finding.Text(reason), finding.Text(ask.Clip(tags[4:n])), finding.Num(1))
		}
		tags = tags[n:]
	}
	return len(b), nil
}

// Gap does nothing: there is no stream.
func (*discovery) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End tells who was never answered.
func (d *discovery) End(s *proto.Scope, _ proto.End) {
	for _, mac := range slices.SortedFunc(maps.Keys(d.asked), func(a, b [6]byte) int { return bytes.Compare(a[:], b[:]) }) {
		if ev := d.asked[mac]; ev.Count >= lostOffers {
			s.ReportEvidence(netip.Addr{}, NoOffer, *ev, finding.Text(proto.MACText(mac)), finding.Num(ev.Count))
		}
	}
}
