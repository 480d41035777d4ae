package correlate

import (
	"net/netip"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
)

// NotScaled is the code of servers that do not scale their windows.
const NotScaled finding.Code = "tcp.window-not-scaled"

// maxUnscaled bounds the services that are remembered.
const maxUnscaled = 1 << 12

// Scaling finds services that refuse window scaling, or whose path takes it away: it
// holds for a whole connection only if both ends offer it (RFC 7323, 2.2).
func Scaling() Spec {
	return Spec{
		Name: "scaling", Doc: "windows that may not grow (RFC 7323)",
		New: func() Correlator { return &scaling{} },
		Codes: []finding.Def{{
			Code: NotScaled, Severity: finding.Info,
			Doc: "A server did not take up the client's offer to scale windows: neither may have more than 65,535 bytes on the way, which is what limits the rate of long paths.",
			Metrics: []finding.Metric{
				{Name: "connections", Doc: "on which the server's SYN lacked the option and the client's had it"},
			},
		}},
	}
}

// unscaled is one service.
type unscaled struct {
	server netip.AddrPort
	flow   flow.ID
	told   uint64
	ev     evidence
}

type scaling struct {
	services cases[unscaled]
	trail    trail
}

// Conn implements Reader.
func (r *scaling) Conn(o *Out, s *Folded) {
	if s.ID.Proto != flow.TCP || s.Handshake <= 0 || s.Client.WindowScale < 0 || s.Server.WindowScale >= 0 {
		return
	}
	x, _ := r.services.entry(channel(s.To, s.To, s.Server.Addr.Port()), maxUnscaled)
	if x == nil {
		return
	}
	if x.ev.count == 0 {
		x.server, x.flow = s.Server.Addr, s.ID
		x.ev.add(&r.trail, s.First, s.Start, s.Start)
		r.tell(o, x)
		return
	}
	x.ev.count++ // a finding is known by its first frame: once told, it stays
}

// End implements Correlator.
func (r *scaling) End(o *Out) {
	for x := range r.services.all.each() {
		if x.ev.count > x.told {
			r.tell(o, x)
		}
	}
}

func (r *scaling) tell(o *Out, x *unscaled) {
	x.told = x.ev.count
	o.Emit(finding.Finding{
		Code: NotScaled, Severity: finding.Info, Flow: x.flow, Evidence: x.ev.done(&r.trail),
		Values: []finding.Value{finding.Num(x.ev.count)},
	})
}
