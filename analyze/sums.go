package analyze

import (
	"netwhy/analyze/correlate"
	"netwhy/analyze/decode"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// verify looks at the checksums of the packet at hand and publishes those that are
// wrong. It is asked for the first packet of each direction of a conversation, and
// for ICMP: adding up every byte of a capture would cost more than all else.
func (l *lane) verify(slot uint32) {
	p := l.pkt
	var layer correlate.Layer
	switch {
	case l.copy:
		return
	case p.IPChecksum(l.raw) == decode.Bad:
		layer = correlate.LayerIP
	case p.TransportChecksum(l.raw) != decode.Bad:
		return
	case p.Kind == decode.KindTCP:
		layer = correlate.LayerTCP
	case p.Kind == decode.KindUDP:
		layer = correlate.LayerUDP
	default:
		layer = correlate.LayerICMP
	}
	if p.Unfilled(l.raw) {
		return
	}
	l.d.events = append(l.d.events, event{slot: slot, Event: proto.Event{
		Frame: l.frame.Number, Time: l.frame.Time,
		Body: &correlate.WrongSum{Layer: layer, From: flow.Addr(p.Src()), To: flow.Addr(p.Dst())},
	}})
}
