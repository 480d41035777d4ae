package correlate

import (
	"cmp"
	"slices"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/hosts"
)

// ManyPeers is the code of hosts that exchange data with whoever they find.
const ManyPeers finding.Code = "peers.many"

const (
	// A client knows its servers, and these listen on a few ports that are written
	// down somewhere. Programs that exchange data among peers listen on a port of
	// their own each: ten peers on eight ports are no configuration.
	manyPeers     = 10
	manyPeerPorts = 8
	// Ports below are given to services (RFC 6335, 6).
	firstUserPort = 1024
	// What is said among peers, even if it is recognised.
	fileSharing = "bittorrent"
	// Bounds of what is told apart.
	maxPeerHosts = 1 << 12
	maxPeers     = 1 << 10
)

// Peers finds hosts that exchange data with many others on ports of no service.
func Peers() Spec {
	return Spec{
		Name: "peers", Doc: "hosts that exchange data with many others, each on a port of its own",
		New: func() Correlator { return &peers{} },
		Codes: []finding.Def{{
			Code: ManyPeers, Severity: finding.Info,
			Doc: "A host exchanges data with ten others or more, on eight of their ports or more, none of which belongs to a service or to a protocol that was recognised, but for BitTorrent: file sharing, a game or a chain of blocks. The finding's host is that host.",
			Metrics: []finding.Metric{
				{Name: "peers", Merge: finding.Max, Doc: "different hosts"},
				{Name: "ports", Merge: finding.Max, Doc: "different ports of theirs"},
				{Name: "conversations", Merge: finding.Max, Doc: "conversations with them"},
				{Name: "bytes", Merge: finding.Max, Doc: "bytes on the wire, both directions"},
				{Name: "share", Merge: finding.Max, Doc: "share of all bytes of TCP and UDP in the capture, 0 to 1"},
				{Name: "sent_share", Merge: finding.Max, Doc: "share of these bytes that the host sent"},
				{Name: "duration_seconds", Merge: finding.Max, Doc: "from the first to the last packet"},
			},
		}},
	}
}

type peerHost struct {
	host         hosts.Number
	peers, ports uint32
	n            uint64
	bytes, sent  uint64
	stop         int64
	ev           evidence
}

type peers struct {
	hosts cases[peerHost]
	met   hosts.Set // pairs
	ports hosts.Set // by the place of who met them
	trail trail
	total uint64
}

// Conn notes a conversation between two ports of no service.
func (p *peers) Conn(_ *Out, c *Folded) {
	a, b := &c.Client, &c.Server
	p.total += a.WireBytes + b.WireBytes
	if c.App != "" && c.App != fileSharing || a.Addr.Port() < firstUserPort || b.Addr.Port() < firstUserPort || a.Bytes+b.Bytes == 0 ||
		a.Addr.Addr().IsMulticast() || b.Addr.Addr().IsMulticast() || c.ID.Proto == flow.TCP && !c.Established && !c.MidStream {
		return
	}
	x, atX := p.hosts.entry(uint64(c.From), maxPeerHosts)
	y, atY := p.hosts.entry(uint64(c.To), maxPeerHosts)
	fresh := (x.room() || y.room()) && c.From != 0 && c.To != 0 && p.met.Len() < maxMembers &&
		p.met.Add(pair(min(c.From, c.To), max(c.From, c.To)))
	if x != nil {
		x.host = c.From
		p.note(x, atX, a, b, c, fresh)
	}
	if y != nil {
		y.host = c.To
		p.note(y, atY, b, a, c, fresh && c.From != c.To)
	}
}

// room reports whether more peers of a host are told apart.
func (h *peerHost) room() bool { return h != nil && h.peers < maxPeers }

// note takes a conversation of a host; a fresh one is the first with that peer.
func (p *peers) note(h *peerHost, at uint32, side, other *conn.Side, c *Folded, fresh bool) {
	if h.room() {
		if p.ports.Len() < maxMembers && p.ports.Add(service(at, other.Addr.Port())) {
			h.ports++
		}
		if fresh {
			h.peers++
		}
	}
	h.n++
	h.bytes += side.WireBytes + other.WireBytes
	h.sent += side.WireBytes
	h.stop = max(h.stop, c.Stop)
	h.ev.add(&p.trail, c.First, c.Start, c.Stop)
}

// End tells of hosts with many.
func (p *peers) End(o *Out) {
	var many []*peerHost
	for h := range p.hosts.all.each() {
		if h.peers >= manyPeers && h.ports >= manyPeerPorts {
			many = append(many, h)
		}
	}
	slices.SortFunc(many, func(a, b *peerHost) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), o.Hosts.Addr(a.host).Compare(o.Hosts.Addr(b.host)))
	})
	for _, h := range many {
		o.Emit(finding.Finding{
			Code: ManyPeers, Severity: finding.Info, Host: o.Hosts.Addr(h.host), Evidence: h.ev.done(&p.trail),
			Values: []finding.Value{
				finding.Num(h.peers), finding.Num(h.ports), finding.Num(h.n), finding.Num(h.bytes),
				finding.Num(float64(h.bytes) / float64(max(p.total, 1))), finding.Num(float64(h.sent) / float64(max(h.bytes, 1))),
				finding.Num(float64(h.stop-h.ev.start) / second),
			},
		})
	}
}
