package aidiag

import (
	"net"
	"net/netip"
	"sync"
)

// own remembers the connections of this engine. Live capture sees them too, and
// without this a dead provider would raise findings about our own connections,
// which would be asked about, which would raise more.
type own struct {
	mu    sync.Mutex
	local map[netip.AddrPort]bool // our ends of connections
	far   map[netip.AddrPort]bool // far ends that could not be reached
}

// maxOwn bounds each set; a full one is emptied, which costs one odd question.
const maxOwn = 1024

func (o *own) dialled(local, failed net.Addr) {
	o.mu.Lock()
	defer o.mu.Unlock()
	note(&o.local, local)
	note(&o.far, failed)
}

func note(set *map[netip.AddrPort]bool, a net.Addr) {
	t, ok := a.(*net.TCPAddr)
	if !ok || t == nil {
		return
	}
	if *set == nil || len(*set) >= maxOwn {
		*set = map[netip.AddrPort]bool{}
	}
	p := t.AddrPort()
	(*set)[netip.AddrPortFrom(p.Addr().Unmap().WithZone(""), p.Port())] = true
}

// all reports whether a case is about our own connections and nothing else.
func (o *own) all(c *Case) bool {
	if len(c.Connections) == 0 {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.local)+len(o.far) == 0 {
		return false
	}
	for i := range c.Connections {
		s := &c.Connections[i]
		if !o.local[s.Client.Addr] && !o.far[s.Server.Addr] {
			return false
		}
	}
	return true
}
