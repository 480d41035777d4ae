// Package icmptunnel looks at the data of ICMP echo (RFC 792; RFC 4443, 4): a
// reply has to bring back what the request brought. Programs that tunnel data in
// echo do not, or send replies that nobody asked for.
package icmptunnel

import (
	"cmp"
	"net/netip"
	"slices"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// Tunnel is reported for echo that carries data of its own.
const Tunnel finding.Code = "icmp.tunnel"

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "icmp", Doc: "Data carried in ICMP echo, RFC 792 and RFC 4443",
		Carrier: proto.ICMP, Numbers: []uint16{flow.ICMP, flow.ICMPv6},
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			if len(b) > headLen && (b[0] == reply4 || b[0] == request4 || b[0] == request6 || b[0] == reply6) && b[1] == 0 {
				return proto.Certain
			}
			return proto.No
		},
		New: func() proto.Analyzer { return &analyzer{pairs: map[pair]*talk{}} },
		Codes: []finding.Def{{
			Code: Tunnel, Severity: finding.Notice,
			Doc: "Echo replies brought other data than the requests, or answered nothing, five times or more (RFC 792: the data received must be returned). The finding's host is the one that asks.",
			Metrics: []finding.Metric{
				{Name: "peer", Text: true, Doc: "the other end"},
				{Name: "altered", Doc: "replies with other data than their request"},
				{Name: "unasked", Doc: "replies to no request, with data"},
				{Name: "messages", Doc: "requests and replies"},
				{Name: "bytes", Doc: "of their data"},
				{Name: "sizes", Doc: "different lengths of data; ping uses one"},
				{Name: "ip_inside", Doc: "messages whose data begin as an IP packet does"},
			},
		}},
	}
}

const (
	headLen            = 8
	reply4, request4   = 0, 8
	request6, reply6   = 128, 129
	enough             = 5
	maxPairs, maxOpen  = 1 << 12, 64
	maxSizes           = 256
	fnvStart, fnvPrime = 14695981039346656037, 1099511628211
)

type pair struct{ from, to netip.Addr }

type sent struct {
	id   uint32
	hash uint64
}

type talk struct {
	open             []sent
	altered, unasked uint64
	messages, bytes  uint64
	inside           uint64
	sizes            map[int]struct{}
	ev               finding.Evidence
}

type analyzer struct {
	pairs map[pair]*talk
	order []pair
}

// Data takes one message.
func (a *analyzer) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	p := s.Packet()
	if p == nil || s.Duplicate() || int(p.PayloadLen) > len(b) {
		return len(b), nil // a copy, or cut by the snaplen
	}
	from, to := flow.Addr(p.Src()), flow.Addr(p.Dst())
	request := b[0] == request4 || b[0] == request6
	if !request {
		from, to = to, from
	}
	if to.IsMulticast() {
		return len(b), nil
	}
	x := a.pairs[pair{from, to}]
	if x == nil {
		if len(a.pairs) >= maxPairs {
			return len(b), nil
		}
		x = &talk{sizes: map[int]struct{}{}}
		a.pairs[pair{from, to}] = x
		a.order = append(a.order, pair{from, to})
	}
	x.take(s, request, b)
	return len(b), nil
}

func (x *talk) take(s *proto.Scope, request bool, b []byte) {
	data := b[headLen:]
	x.messages++
	x.bytes += uint64(len(data))
	if len(x.sizes) < maxSizes {
		x.sizes[len(data)] = struct{}{}
	}
	if len(data) >= 20 && data[0] == 0x45 && int(data[2])<<8|int(data[3]) <= len(data) && int(data[2])<<8|int(data[3]) >= 20 {
		x.inside++
	}
	id := uint32(b[4])<<24 | uint32(b[5])<<16 | uint32(b[6])<<8 | uint32(b[7])
	h := uint64(fnvStart)
	for _, c := range data {
		h = (h ^ uint64(c)) * fnvPrime
	}
	if request {
		if len(x.open) >= maxOpen {
			x.open = slices.Delete(x.open, 0, 1)
		}
		x.open = append(x.open, sent{id, h})
		return
	}
	i := slices.IndexFunc(x.open, func(o sent) bool { return o.id == id })
	switch {
	case i >= 0 && x.open[i].hash == h:
		x.open = slices.Delete(x.open, i, i+1)
	case i >= 0:
		x.altered++
		x.ev.Add(s.Frame(), s.Now())
	case x.messages > 1: // the capture may begin between request and reply
		x.unasked++
		x.ev.Add(s.Frame(), s.Now())
	}
}

// Gap does nothing: there is no stream.
func (*analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End tells whose echo is none.
func (a *analyzer) End(s *proto.Scope, _ proto.End) {
	slices.SortFunc(a.order, func(x, y pair) int { return cmp.Compare(a.pairs[x].ev.First, a.pairs[y].ev.First) })
	for _, k := range a.order {
		x := a.pairs[k]
		// Replies alone are what is seen of one direction only.
		if x.altered+x.unasked < enough || x.altered == 0 && x.unasked >= x.messages-1 && len(x.sizes) < enough {
			continue
		}
		s.ReportEvidence(k.from, Tunnel, x.ev, finding.Text(k.to.String()), finding.Num(x.altered), finding.Num(x.unasked),
			finding.Num(x.messages), finding.Num(x.bytes), finding.Num(len(x.sizes)), finding.Num(x.inside))
	}
}
