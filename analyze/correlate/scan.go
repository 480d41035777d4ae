package correlate

import (
	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/hosts"
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
	// and all that are told apart by one correlator and kind.
	maxMembers = 1 << 20
)

// Scan finds scans and floods from the ends of connections.
func Scan() Spec {
	return Spec{
		Name: "scan",
		Doc:  "connections that fail by the dozen: port scans, sweeps, SYN floods",
		New:  func() Correlator { return &scan{} },
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

// sweep is a series of attempts of one host: on another one, or on one port.
type sweep struct {
	from                      hosts.Number
	to                        hosts.Number
	port                      uint16
	tried, open               uint32 // different ports or hosts, and of these answered
	attempts, refused, silent uint64
	failed                    uint64
	ev                        evidence
}

// flood is the handshakes with one server.
type flood struct {
	server           hosts.Number
	port             uint16
	begun, completed uint64
	sources          uint32
	pace
	ev evidence
}

// sweeps are the attempts by pair, or by port.
type sweeps struct {
	cases[sweep]

	tried hosts.Table[bool] // by the place of the sweep and the host or port: whether it was open
}

type scan struct {
	ports, hosts sweeps
	floods       cases[flood]
	sources      hosts.Set // by the place of the flood
	trail        trail
}

// Conn notes how an attempt to connect ended.
func (s *scan) Conn(_ *Out, c *Folded) {
	if c.ID.Proto != flow.TCP || c.SYNs == 0 {
		return
	}
	port := c.Server.Addr.Port()
	if c.Established && c.Client.Bytes+c.Server.Bytes > 0 {
		if f, _ := s.floods.get(service(c.To, port)); f != nil {
			f.begun++
			f.completed++
		}
		return // a connection in use is no part of a scan
	}
	if w, at := s.ports.entry(pair(c.From, c.To), maxPairs); w != nil {
		w.from, w.to = c.From, c.To
		s.attempt(&s.ports, w, uint64(at)<<portBits|uint64(port), c)
	}
	if w, at := s.hosts.entry(service(c.From, port), maxPairs); w != nil {
		w.from, w.port = c.From, port
		s.attempt(&s.hosts, w, pair(at, c.To), c)
	}
	s.flood(c, port)
}

// attempt adds one to a sweep; what tells its target apart is a key, 0 where it has
// no number.
func (s *scan) attempt(of *sweeps, w *sweep, target uint64, c *Folded) {
	if target != 0 && w.tried < maxTracks && of.tried.Len() < maxMembers {
		n := of.tried.Len()
		open := of.tried.At(target)
		if of.tried.Len() > n {
			w.tried++
		}
		if !*open && c.Server.Packets > 0 && c.End != conn.EndRefused {
			*open = true
			w.open++
		}
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
	w.ev.add(&s.trail, c.First, c.Start, c.Stop)
}

func (s *scan) flood(c *Folded, port uint16) {
	f, at := s.floods.entry(service(c.To, port), maxPairs)
	if f == nil {
		return
	}
	f.server, f.port = c.To, port
	f.begun++
	if c.Established {
		f.completed++
	}
	if k := pair(at, c.From); k != 0 && f.sources < maxTracks && s.sources.Len() < maxMembers && s.sources.Add(k) {
		f.sources++
	}
	f.tick(c.Start)
	f.ev.add(&s.trail, c.First, c.Start, c.Stop)
}

// End tells what the attempts amount to.
func (s *scan) End(o *Out) {
	for f := range s.floods.all.each() {
		if f.peak < floodPerSecond || float64(f.begun-f.completed) < floodOpenShare*float64(f.begun) {
			continue
		}
		o.Emit(finding.Finding{
			Code: SYNFlood, Severity: finding.Warning, Host: o.Hosts.Addr(f.server), Evidence: f.ev.done(&s.trail),
			Values: []finding.Value{
				finding.Num(f.port), finding.Num(f.begun), finding.Num(f.completed),
				finding.Num(f.sources), finding.Num(f.peak), finding.Num(f.ev.seconds()),
			},
		})
	}
	for w := range s.ports.all.each() {
		if w.tried >= scanPorts && w.isScan() {
			s.tell(o, w, PortScan, finding.Text(o.Hosts.Addr(w.to).String()))
		}
	}
	for w := range s.hosts.all.each() {
		if w.tried >= scanHosts && w.isScan() {
			s.tell(o, w, HostScan, finding.Num(w.port))
		}
	}
}

func (w *sweep) isScan() bool {
	return float64(w.failed) >= scanFailedShare*float64(w.attempts)
}

func (s *scan) tell(o *Out, w *sweep, code finding.Code, what finding.Value) {
	o.Emit(finding.Finding{
		Code: code, Severity: finding.Notice, Host: o.Hosts.Addr(w.from), Evidence: w.ev.done(&s.trail),
		Values: []finding.Value{
			what, finding.Num(w.tried), finding.Num(w.open), finding.Num(w.refused),
			finding.Num(w.silent), finding.Num(w.ev.seconds()),
		},
	})
}
