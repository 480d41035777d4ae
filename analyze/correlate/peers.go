package correlate

import (
	"cmp"
	"net/netip"
	"slices"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
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
	// Bounds of what is told apart.
	maxPeerHosts = 1 << 12
	maxPeers     = 1 << 10
)

// Peers finds hosts that exchange data with many others on ports of no service.
func Peers() Spec {
	return Spec{
		Name: "peers", Doc: "hosts that exchange data with many others, each on a port of its own",
		New: func() Correlator { return &peers{hosts: map[netip.Addr]*peerHost{}} },
		Codes: []finding.Def{{
			Code: ManyPeers, Severity: finding.Info,
			Doc: "A host exchanges data with ten others or more, on eight of their ports or more, none of which belongs to a service or to a protocol that was recognised: file sharing, a game or a chain of blocks. The finding's host is that host.",
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
	peers       map[netip.Addr]struct{}
	ports       map[uint16]struct{}
	n           uint64
	bytes, sent uint64
	stop        int64
	ev          evidence
}

type peers struct {
	hosts map[netip.Addr]*peerHost
	total uint64
}

// Event does nothing: conversations tell all.
func (*peers) Event(*Out, *proto.Event) {}

// Conn notes a conversation between two ports of no service.
func (p *peers) Conn(_ *Out, c *conn.Summary) {
	p.total += c.Client.WireBytes + c.Server.WireBytes
	a, b := &c.Client, &c.Server
	if c.App != "" || a.Addr.Port() < firstUserPort || b.Addr.Port() < firstUserPort || a.Bytes+b.Bytes == 0 ||
		a.Addr.Addr().IsMulticast() || b.Addr.Addr().IsMulticast() || c.ID.Proto == flow.TCP && !c.Established && !c.MidStream {
		return
	}
	p.note(a, b, c)
	p.note(b, a, c)
}

func (p *peers) note(host, other *conn.Side, c *conn.Summary) {
	h := p.hosts[host.Addr.Addr()]
	if h == nil {
		if len(p.hosts) >= maxPeerHosts {
			return
		}
		h = &peerHost{peers: map[netip.Addr]struct{}{}, ports: map[uint16]struct{}{}}
		p.hosts[host.Addr.Addr()] = h
	}
	if len(h.peers) < maxPeers {
		h.peers[other.Addr.Addr()] = struct{}{}
		h.ports[other.Addr.Port()] = struct{}{}
	}
	h.n++
	h.bytes += host.WireBytes + other.WireBytes
	h.sent += host.WireBytes
	h.stop = max(h.stop, c.Stop)
	h.ev.add(c.First, c.Start, c.Stop)
}

// End tells of hosts with many.
func (p *peers) End(o *Out) {
	var hosts []netip.Addr
	for a, h := range p.hosts {
		if len(h.peers) >= manyPeers && len(h.ports) >= manyPeerPorts {
			hosts = append(hosts, a)
		}
	}
	slices.SortFunc(hosts, func(a, b netip.Addr) int {
		return cmp.Or(cmp.Compare(p.hosts[b].bytes, p.hosts[a].bytes), a.Compare(b))
	})
	for _, a := range hosts {
		h := p.hosts[a]
		o.Emit(finding.Finding{
			Code: ManyPeers, Severity: finding.Info, Host: a, Evidence: h.ev.done(),
			Values: []finding.Value{
				finding.Num(len(h.peers)), finding.Num(len(h.ports)), finding.Num(h.n), finding.Num(h.bytes),
				finding.Num(float64(h.bytes) / float64(max(p.total, 1))), finding.Num(float64(h.sent) / float64(max(h.bytes, 1))),
				finding.Num(float64(h.stop-h.ev.start) / second),
			},
		})
	}
}
