package analyze

import "netwhy/analyze/proto"

// A resolver's client has a port of its own for nearly each lookup, and each pair of
// ports is a conversation to the end of the capture: it may be used again. Their
// analyzers would be most of what such a capture keeps in memory. So one that awaits
// nothing is dropped after a while, and made anew if more comes.

// rests notes a conversation of datagrams whose analyzer awaits nothing.
func (l *lane) rests(slot uint32, c *conversation) {
	if c.flags&dozing == 0 && c.socket != 0 && l.sockets[c.socket].atRest() {
		c.flags |= dozing
		l.dozing = append(l.dozing, leaving{slot, c.serial, l.frame.Time})
	}
}

// restDue drops the analyzers that nothing came for as long as a closed connection
// is measured: what comes later is no answer any more.
func (l *lane) restDue(now int64) {
	n := 0
	for n < len(l.dozing) && now-l.dozing[n].at > lingering {
		x := l.dozing[n]
		n++
		c := l.table.at(x.slot)
		if c.flags&inUse == 0 || c.serial != x.serial || c.socket == 0 {
			continue
		}
		c.flags &^= dozing
		switch k := l.sockets[c.socket]; {
		case !k.atRest(): // noted again when it is
		case now-c.last <= lingering:
			c.flags |= dozing
			l.dozing = append(l.dozing, leaving{x.slot, x.serial, c.last})
		default:
			if at := l.specs.place(k.spec); at != 0 {
				c.rested = at
				l.free(c)
			}
		}
	}
	l.dozing = l.dozing[n:]
}

// atRest reports whether a socket knows nothing that could not be had again.
func (k *socket) atRest() bool {
	r, ok := k.analyzer.(proto.Rester)
	return ok && !k.bad && k.more == nil && !k.spec.Wraps && *k.facts == (proto.Facts{App: k.spec.Name}) && r.Rests()
}

// rouse gives a socket the analyzer that its conversation had.
func (l *lane) rouse(c *conversation, k *socket) {
	k.read(l, c, l.rested(c))
	c.rested = 0
}

// rested is who read a conversation whose analyzer was dropped; nil: it was not.
func (l *lane) rested(c *conversation) *proto.Spec {
	if c.rested == 0 {
		return nil
	}
	return &l.specs.all[c.rested-1]
}
