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

// Codes of scans and floods.
const (
	PortScan finding.Code = "scan.ports"
	HostScan finding.Code = "scan.hosts"
	SYNFlood finding.Code = "flood.syn"
)

// Thresholds, each with its reason.
const (
	// A client of one server uses a handful of its ports, even with FTP's data
	// connections all of them succeed; twenty that fail are a list being tried.
	scanPorts = 20
	// The same port on ten hosts that all refuse or stay silent: no client has
	// ten servers of one kind that are all down.
	scanHosts = 10
	// Of the connections of a scan at most one in five may succeed: even a host
	// with many services has most of its ports closed.
	scanFailedShare = 0.8
	// A server in trouble leaves its clients' SYNs unanswered too, but a client
	// waits a second before it tries again (RFC 6298, 2.1): a hundred handshakes
	// that nobody completes within a second are not made by waiting clients.
	floodPerSecond = 100
	// and less than one in ten of them is completed.
	floodOpenShare = 0.9
)

// bounds of the state.
const (
	maxPairs  = 1 << 16
	maxTracks = 1 << 12 // ports or hosts of one scan that are told apart
)

// Scan finds scans and floods from the ends of connections.
func Scan() Spec {
	return Spec{
		Name: "scan",
		Doc:  "connections that fail by the dozen: port scans, sweeps, SYN floods",
		New: func() Correlator {
			return &scan{ports: map[pair]*sweep{}, hosts: map[service]*sweep{}, floods: map[netip.AddrPort]*flood{}}
		},
		Codes: []finding.Def{
			{
				Code: PortScan, Severity: finding.Notice,
				Doc: "One host tried many TCP ports of another and most attempts failed. The finding's host is the one that scans.",
				Metrics: []finding.Metric{
					{Name: "target", Text: true, Doc: "the host scanned"},
					{Name: "ports", Merge: finding.Sum, Doc: "different ports tried"},
					{Name: "open", Merge: finding.Sum, Doc: "of these answered with SYN-ACK"},
					{Name: "refused", Merge: finding.Sum, Doc: "attempts answered with RST"},
					{Name: "unanswered", Merge: finding.Sum, Doc: "attempts without answer"},
					{Name: "duration_seconds", Merge: finding.Max, Doc: "from the first to the last attempt"},
				},
			},
			{
				Code: HostScan, Severity: finding.Notice,
				Doc: "One host tried the same TCP port on many hosts and most attempts failed. The finding's host is the one that scans.",
				Metrics: []finding.Metric{
					{Name: "port", Doc: "the port tried"},
					{Name: "hosts", Merge: finding.Sum, Doc: "different hosts tried"},
					{Name: "open", Merge: finding.Sum, Doc: "of these answered with SYN-ACK"},
					{Name: "refused", Merge: finding.Sum, Doc: "attempts answered with RST"},
					{Name: "unanswered", Merge: finding.Sum, Doc: "attempts without answer"},
					{Name: "duration_seconds", Merge: finding.Max, Doc: "from the first to the last attempt"},
				},
			},
			{
				Code: SYNFlood, Severity: finding.Warning,
				Doc: "Handshakes with one server were begun by the hundred within a second and not completed (RFC 4987). The finding's host is the server.",
				Metrics: []finding.Metric{
					{Name: "port", Doc: "of the server"},
					{Name: "attempts", Merge: finding.Sum, Doc: "handshakes begun"},
					{Name: "completed", Merge: finding.Sum, Doc: "of these completed"},
					{Name: "sources", Merge: finding.Max, Doc: "different client addresses"},
					{Name: "peak_per_second", Merge: finding.Max, Doc: "most handshakes begun within a second"},
					{Name: "duration_seconds", Merge: finding.Max, Doc: "from the first to the last"},
				},
			},
		},
	}
}

type pair struct{ from, to netip.Addr }

type service struct {
	from netip.Addr
	port uint16
}

// sweep is a series of attempts of one host.
type sweep struct {
	tried                     map[netip.AddrPort]bool // and whether it was open
	attempts, refused, silent uint64
	failed                    uint64
	ev                        evidence
}

// flood is the handshakes with one server.
type flood struct {
	begun, completed uint64
	sources          map[netip.Addr]struct{}
	second           int64 // that is being counted
	inSecond, peak   uint64
	ev               evidence
}

type scan struct {
	ports  map[pair]*sweep
	hosts  map[service]*sweep
	floods map[netip.AddrPort]*flood
}

func (*scan) Event(*Out, *proto.Event) {}

// Conn notes how an attempt to connect ended.
func (s *scan) Conn(_ *Out, c *conn.Summary) {
	if c.ID.Proto != flow.TCP || c.SYNs == 0 {
		return
	}
	if c.Established && c.Client.Bytes+c.Server.Bytes > 0 {
		if f := s.floods[c.Server.Addr]; f != nil {
			f.begun++
			f.completed++
		}
		return // a connection in use is no part of a scan
	}
	s.sweep(c)
	s.flood(c)
}

func (s *scan) sweep(c *conn.Summary) {
	from, to := c.Client.Addr.Addr(), c.Server.Addr
	add := func(w *sweep) {
		if len(w.tried) < maxTracks {
			w.tried[to] = w.tried[to] || c.Server.Packets > 0 && c.End != conn.EndRefused
		}
		w.attempts++
		switch {
		case c.End == conn.EndRefused:
			w.refused++
			w.failed++
		case c.Server.Packets == 0:
			w.silent++
			w.failed++
		}
		w.ev.add(c.First, c.Start, c.Stop)
	}
	if w := entry(s.ports, pair{from, to.Addr()}, newSweep); w != nil {
		add(w)
	}
	if w := entry(s.hosts, service{from, to.Port()}, newSweep); w != nil {
		add(w)
	}
}

func (s *scan) flood(c *conn.Summary) {
	f := entry(s.floods, c.Server.Addr, func() *flood { return &flood{sources: map[netip.Addr]struct{}{}} })
	if f == nil {
		return
	}
	f.begun++
	if c.Established {
		f.completed++
	}
	if len(f.sources) < maxTracks {
		f.sources[c.Client.Addr.Addr()] = struct{}{}
	}
	if sec := c.Start / second; sec != f.second {
		f.second, f.inSecond = sec, 0
	}
	f.inSecond++
	f.peak = max(f.peak, f.inSecond)
	f.ev.add(c.First, c.Start, c.Stop)
}

// entry returns what a map holds for a key, made anew unless the map is full.
func entry[K comparable, V any](m map[K]*V, k K, fresh func() *V) *V {
	v := m[k]
	if v == nil && len(m) < maxPairs {
		v = fresh()
		m[k] = v
	}
	return v
}

func newSweep() *sweep { return &sweep{tried: map[netip.AddrPort]bool{}} }

// End tells what the attempts amount to.
func (s *scan) End(o *Out) {
	flooded := map[netip.Addr]bool{}
	for at, f := range s.floods {
		if f.peak < floodPerSecond || float64(f.begun-f.completed) < floodOpenShare*float64(f.begun) {
			continue
		}
		flooded[at.Addr()] = true
		o.Emit(finding.Finding{
			Code: SYNFlood, Severity: finding.Warning, Host: at.Addr(), Evidence: f.ev.done(),
			Values: []finding.Value{
				finding.Num(at.Port()), finding.Num(f.begun), finding.Num(f.completed),
				finding.Num(len(f.sources)), finding.Num(f.peak), finding.Num(f.ev.seconds()),
			},
		})
	}
	for p, w := range s.ports {
		if len(w.tried) >= scanPorts && w.isScan() {
			o.Emit(w.finding(PortScan, p.from, finding.Text(p.to.String())))
		}
	}
	for v, w := range s.hosts {
		if len(w.tried) >= scanHosts && w.isScan() {
			o.Emit(w.finding(HostScan, v.from, finding.Num(v.port)))
		}
	}
}

func (w *sweep) isScan() bool {
	return float64(w.failed) >= scanFailedShare*float64(w.attempts)
}

func (w *sweep) finding(code finding.Code, from netip.Addr, what finding.Value) finding.Finding {
	open := 0
	for _, is := range w.tried {
		if is {
			open++
		}
	}
	return finding.Finding{
		Code: code, Severity: finding.Notice, Host: from, Evidence: w.ev.done(),
		Values: []finding.Value{
			what, finding.Num(len(w.tried)), finding.Num(open), finding.Num(w.refused),
			finding.Num(w.silent), finding.Num(w.ev.seconds()),
		},
	}
}

// evidence gathers frames that come in no order.
type evidence struct {
	first, last uint64 // frames
	start, end  int64
	frames      []uint64
	count       uint64
}

func (e *evidence) add(frame uint64, start, stop int64) {
	if e.count == 0 || frame < e.first {
		e.first, e.start = frame, start
	}
	if e.count == 0 || frame >= e.last {
		e.last, e.end = frame, max(start, stop)
	}
	e.count++
	if len(e.frames) < 4*finding.MaxFrames {
		e.frames = append(e.frames, frame)
	}
}

func (e *evidence) seconds() float64 { return float64(e.end-e.start) / 1e9 }

// done is the evidence in the order of frames, within its bounds.
func (e *evidence) done() finding.Evidence {
	frames := append(e.frames, e.first, e.last) //nolint:gocritic // a copy is made below where it matters
	slices.SortFunc(frames, cmp.Compare)
	frames = slices.Compact(frames)
	if n := len(frames); n > finding.MaxFrames {
		frames[finding.MaxFrames-1] = frames[n-1]
		frames = frames[:finding.MaxFrames]
	}
	return finding.Evidence{
		First: e.first, Start: e.start, Last: e.last, End: e.end, Count: e.count, Frames: slices.Clone(frames),
	}
}
