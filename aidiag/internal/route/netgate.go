package route

import (
	"sync"
	"sync/atomic"
	"time"
)

// netGate notices that it is our own network that is down: two cloud hosts that
// cannot be dialled within a few seconds, and nothing alive between. It spares
// the rest of the endpoints and the user's time. Local providers pass it.
type netGate struct {
	window, closed int64
	until          atomic.Int64 // 0: open
	probing        atomic.Bool

	mu   sync.Mutex
	host string // of the last dial fault with nothing alive since
	at   int64
}

func newNetGate(window, closed time.Duration) *netGate {
	return &netGate{window: int64(window), closed: int64(closed)}
}

// blockedUntil is when a cloud host may be tried again; 0: now.
func (g *netGate) blockedUntil(now int64) int64 {
	if u := g.until.Load(); now < u {
		return u
	}
	return 0
}

// allow lets everybody through while open, nobody while closed, and one probe
// when the time is over.
func (g *netGate) allow(now int64) (probe, ok bool) {
	u := g.until.Load()
	switch {
	case u == 0:
		return false, true
	case now < u:
		return false, false
	}
	probe = g.probing.CompareAndSwap(false, true)
	return probe, probe
}

// done takes a result: alive opens the gate; a fault of dialling closes it when
// it was the probe's, or the second host's.
func (g *netGate) done(host string, now int64, probe, alive, fault bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case alive:
		g.host = ""
		g.until.Store(0)
	case fault:
		if probe || g.host != "" && g.host != host && now-g.at <= g.window {
			g.until.Store(now + g.closed)
		}
		g.host, g.at = host, now
	}
	if probe {
		g.probing.Store(false)
	}
}

// reset forgets everything: the link came up.
func (g *netGate) reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.host = ""
	g.until.Store(0)
}
