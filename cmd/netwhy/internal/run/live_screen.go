package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"netwhy/analyze"
	"netwhy/analyze/conn"
	"netwhy/cmd/netwhy/internal/screen"
	"netwhy/cmd/netwhy/internal/terminal"
)

// liveScreen is the terminal's screen of a run, and what only it needs.
type liveScreen struct {
	*screen.Screen
	talk talk
}

// startScreen takes the terminal, where there is one and it is wanted.
func (c *liveRun) startScreen(ctx context.Context) {
	if !c.opt.Screen || !terminal.IsTerminal(c.w.Stdout) || !terminal.IsReader(c.w.Stdin) || c.w.Getenv("TERM") == "dumb" || c.streams() {
		return
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return
	}
	if terminal.IsTerminal(c.w.Stderr) { // the log would be drawn across the screen
		c.w.Log = slog.New(slog.NewTextHandler(sayer{c}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	if tty, ok := c.w.Stdout.(*os.File); ok {
		if c.guard, err = terminal.NewGuard(tty); err != nil {
			c.w.Log.DebugContext(ctx, "the terminal is not guarded", slog.Any("err", err))
		}
	}
	c.screen.Store(&liveScreen{
		talk: newTalk(),
		Screen: screen.Start(ctx, screen.Options{
			In: c.w.Stdin, Out: c.w.Stdout, Environ: os.Environ(), Interfaces: strings.Join(c.opt.Source.Interfaces, " "),
			Colour:    terminal.UseColour(c.w.Stdout, c.opt.NoColour, c.w.Getenv),
			Quit:      c.src.Stop,
			Interrupt: func() { _ = self.Signal(os.Interrupt) }, // the same way as from a shell
			Failed:    func(err error) { c.fail(fmt.Errorf("the screen ended: %w", err)) },
		}),
	})
}

// terminals counts the standard streams that lead to a terminal.
func (c *liveRun) terminals() (n int) {
	for _, is := range []bool{terminal.IsReader(c.w.Stdin), terminal.IsTerminal(c.w.Stdout), terminal.IsTerminal(c.w.Stderr)} {
		if is {
			n++
		}
	}
	return n
}

// terminalGone reports whether there was a terminal, and it has been hung up.
func (c *liveRun) terminalGone() bool { return c.atTerminal && c.terminals() == 0 }

// sayer writes lines where the screen, or standard error, has them.
type sayer struct{ c *liveRun }

func (s sayer) Write(b []byte) (int, error) {
	for line := range strings.Lines(string(b)) {
		s.c.say("%s", strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "netwhy: "))
	}
	return len(b), nil
}

// streams reports whether something is written to standard output while the
// capture runs.
func (c *liveRun) streams() bool {
	return slices.ContainsFunc(c.opt.Outputs, func(o Output) bool {
		return (o.Path == "" || o.Path == "-") && o.Format == "ndjson"
	})
}

// stopScreen gives the terminal back.
func (c *liveRun) stopScreen() {
	s := c.screen.Swap(nil)
	if s == nil {
		return
	}
	if err := s.Stop(); err == nil { // else the guard gives the terminal back when the process ends
		c.guard.Release()
	}
}

var errHungUp = errors.New("the terminal was hung up")

// show draws the latest moment.
func (m *monitor) show(now time.Time) {
	on := m.c.screen.Load()
	if on == nil {
		return
	}
	if m.c.terminalGone() { // reading from it ends without a word
		m.c.fail(errHungUp)
		return
	}
	info := m.c.src.Info()
	used, size := m.c.src.Depth()
	s := &screen.Snapshot{
		At: now, Packets: info.Counters.Packets, Bytes: info.Counters.Bytes,
		Kernel: info.Counters.DroppedKernel, Interface: info.Counters.DroppedInterface, Queue: info.Counters.DroppedQueue,
		Used: used, Size: size, Open: m.last.res.Open, Unread: m.last.res.Unread, Report: m.last.report, AI: m.c.aiLine(),
	}
	if m.c.opt.Record.Path != "" {
		s.Recording = fmt.Sprintf("recorded %d", m.c.recorded.Load())
	}
	s.Talkers, s.Services = on.talk.tops(now, m.last.res)
	on.Show(s)
}

// aiLine is the state of the model and of its breakers.
func (c *liveRun) aiLine() string {
	switch {
	case !c.opt.Diagnose:
		return "off"
	case c.side.engine == nil:
		return reasonOffline
	}
	st := c.side.engine.Status()
	var parts []string
	for _, e := range st.Router.Endpoints {
		parts = append(parts, e.Provider+" breaker "+e.State)
	}
	if n := st.Waiting + st.UnderWay; n > 0 {
		parts = append(parts, fmt.Sprintf("%d waiting", n))
	}
	for _, k := range slices.Sorted(maps.Keys(st.Answers)) {
		parts = append(parts, fmt.Sprintf("%s %d", k, st.Answers[k]))
	}
	if len(parts) == 0 {
		return "ready"
	}
	return strings.Join(parts, ", ")
}

// talk sums up who talks and which services are slow. Connections that ended are
// added up, those that are open come with each moment.
type talk struct {
	mu       sync.Mutex
	hosts    map[netip.Addr]*hostSum
	services map[netip.AddrPort]*serviceSum
}

type hostSum struct {
	bytes, before uint64
	at            time.Time
}

type serviceSum struct {
	app, name         string
	exchanges, failed uint64
	think, worst      int64 // ns
}

// maxSums bounds both lists: the smaller half makes room.
const maxSums = 4096

func newTalk() talk {
	return talk{hosts: map[netip.Addr]*hostSum{}, services: map[netip.AddrPort]*serviceSum{}}
}

// add takes a connection that ended.
func (t *talk) add(s *conn.Summary) {
	t.mu.Lock()
	defer t.mu.Unlock()
	bytes := s.Client.WireBytes + s.Server.WireBytes
	for _, a := range []netip.Addr{s.Client.Addr.Addr(), s.Server.Addr.Addr()} {
		h := t.hosts[a]
		if h == nil {
			h = &hostSum{}
			t.hosts[a] = h
		}
		h.bytes += bytes
	}
	if x := t.service(s.Server.Addr); s.Exchanges > 0 || s.FailedExchanges > 0 {
		x.add(s)
	}
	t.shrink()
}

func (t *talk) service(at netip.AddrPort) *serviceSum {
	x := t.services[at]
	if x == nil {
		x = &serviceSum{}
		t.services[at] = x
	}
	return x
}

func (x *serviceSum) add(s *conn.Summary) {
	x.app, x.name = cmp.Or(s.App, x.app), cmp.Or(s.Name, x.name)
	x.exchanges += uint64(s.Exchanges)
	x.failed += uint64(s.FailedExchanges)
	x.think += s.Parts.Part[conn.ServerThink]
	if s.Worst != nil {
		x.worst = max(x.worst, s.Worst.Ledger.Part[conn.ServerThink])
	}
}

func (t *talk) shrink() {
	if len(t.hosts) > maxSums {
		order := slices.SortedFunc(maps.Keys(t.hosts), func(a, b netip.Addr) int { return cmp.Compare(t.hosts[a].bytes, t.hosts[b].bytes) })
		for _, a := range order[:len(order)/2] {
			delete(t.hosts, a)
		}
	}
	if len(t.services) > maxSums {
		order := slices.SortedFunc(maps.Keys(t.services), func(a, b netip.AddrPort) int { return cmp.Compare(t.services[a].worst, t.services[b].worst) })
		for _, a := range order[:len(order)/2] {
			delete(t.services, a)
		}
	}
}

// shown is how many of each are given to the screen.
const shown = 50

// tops are the largest talkers and the slowest services at a moment.
func (t *talk) tops(now time.Time, res *analyze.Result) ([]screen.Talker, []screen.Service) {
	t.mu.Lock()
	defer t.mu.Unlock()
	bytes := make(map[netip.Addr]uint64, len(t.hosts))
	for a, h := range t.hosts {
		bytes[a] = h.bytes
	}
	services := make(map[netip.AddrPort]serviceSum, len(t.services))
	for a, x := range t.services {
		services[a] = *x
	}
	for _, s := range res.Standing {
		for _, a := range []netip.Addr{s.Client.Addr.Addr(), s.Server.Addr.Addr()} {
			bytes[a] += s.Client.WireBytes + s.Server.WireBytes
		}
		if s.Exchanges > 0 {
			x := services[s.Server.Addr]
			x.add(s)
			services[s.Server.Addr] = x
		}
	}
	return t.talkers(now, bytes, res), slowest(services)
}

func (t *talk) talkers(now time.Time, bytes map[netip.Addr]uint64, res *analyze.Result) []screen.Talker {
	order := slices.SortedFunc(maps.Keys(bytes), func(a, b netip.Addr) int {
		return cmp.Or(cmp.Compare(bytes[b], bytes[a]), a.Compare(b))
	})
	var out []screen.Talker
	for _, a := range order[:min(len(order), shown)] {
		h := t.hosts[a]
		if h == nil {
			h = &hostSum{}
			t.hosts[a] = h
		}
		x := screen.Talker{Host: a.String(), Name: res.Names[a], Bytes: bytes[a]}
		if seconds := now.Sub(h.at).Seconds(); !h.at.IsZero() && seconds > 0 && bytes[a] > h.before {
			x.Rate = float64(bytes[a]-h.before) / seconds
		}
		h.before, h.at = bytes[a], now
		out = append(out, x)
	}
	return out
}

func slowest(services map[netip.AddrPort]serviceSum) []screen.Service {
	var out []screen.Service
	for at, x := range services {
		if x.exchanges == 0 || x.think == 0 { // not seen, as of datagrams
			continue
		}
		if x.name == at.Addr().String() { // as of an HTTP host
			x.name = ""
		}
		out = append(out, screen.Service{
			Addr: at.String(), App: x.app, Name: x.name, Exchanges: x.exchanges, Failed: x.failed,
			Mean: time.Duration(x.think / int64(x.exchanges)), Worst: time.Duration(x.worst), //nolint:gosec // counts
		})
	}
	slices.SortFunc(out, func(a, b screen.Service) int {
		return cmp.Or(cmp.Compare(b.Mean, a.Mean), cmp.Compare(a.Addr, b.Addr))
	})
	return out[:min(len(out), shown)]
}
