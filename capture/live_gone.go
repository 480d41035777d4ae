package capture

import (
	"errors"
	"strconv"
	"strings"
)

// away is the part of a port that tells where it is when it is not there.
type away struct {
	gone     bool   // closed, and looked for
	down     bool   // there, but not up
	told     bool   // that it cannot be opened again
	returned int    // index of the interface that came back and is read with the standby; 0: none
	cooked   uint16 // its entry in Info.Interfaces as the standby sees it; 0: none yet
}

// lose takes an interface out of the run; it is looked for from now on.
func (l *Live) lose(p *port, err error) {
	l.dropped(p)
	p.close()
	p.gone = true
	text := p.name + ": " + lower(err.Error()) + "; waiting for it to come back"
	if p == l.spare {
		l.spare = nil
		return
	}
	l.notify(Notice{Interface: p.name, Text: text, Lost: true})
}

func (l *Live) notify(n Notice) {
	if l.opt.Notify != nil {
		l.opt.Notify(n)
	}
}

// look tells interfaces that went down or came back.
func (l *Live) look() {
	for _, p := range l.ports {
		if p.name == AnyInterface {
			continue
		}
		index, up, err := lookUp(p.name)
		switch {
		case err != nil: // the next look may tell
		case p.returned != 0 && index != p.returned:
			p.returned = 0
			_ = l.listen() // the frames of an interface that is gone do not come either way
			l.notify(Notice{Interface: p.name, Text: p.name + ": the interface disappeared; waiting for it to come back", Lost: true})
		case index == 0:
			if !p.gone { // libpcap reports it with the next read, if at all
				l.lose(p, errDisappeared)
			}
		case p.gone && p.returned == 0 && up:
			l.comeBack(p, index)
		case !p.gone && !up && !p.down:
			p.down = true
			l.notify(Notice{Interface: p.name, Text: p.name + ": the interface is down; waiting for it to come up", Lost: true})
		case !p.gone && up && p.down:
			p.down = false
			l.notify(Notice{Interface: p.name, Text: p.name + ": the interface is up again"})
		}
	}
}

var errDisappeared = errors.New("the interface disappeared")

// comeBack reads an interface that is there again: by opening it, or, where the
// privilege for that was given up, with the standby.
func (l *Live) comeBack(p *port, index int) {
	again, err := l.reopen(p.name)
	if err == nil {
		again.index, again.stage = p.index, p.stage
		if again.link != p.link {
			again.index = l.interfaceIndex(Interface{Name: p.name, Link: again.link, SnapLen: uint32(l.opt.SnapLen)}) //nolint:gosec // checked
		}
		*p = *again
		l.notify(Notice{Interface: p.name, Text: p.name + ": the interface is back"})
		return
	}
	if !errors.Is(err, ErrPermission) {
		return // it may not be ready yet
	}
	if l.spare == nil {
		if !p.told {
			p.told = true
			l.notify(Notice{Interface: p.name, Lost: true, Text: p.name + ": the interface is back, but the right to open it was given up; start netwhy again to see it"})
		}
		return
	}
	p.returned = index
	if p.cooked == 0 {
		p.cooked = l.interfaceIndex(Interface{Name: p.name, Link: l.spare.link, SnapLen: uint32(l.opt.SnapLen)}) //nolint:gosec // checked
	}
	p.index = p.cooked
	if l.spare.stage == nil {
		l.spare.stage = newStage(l.opt.BatchBytes)
		l.withSpare = append(append([]*port(nil), l.ports...), l.spare)
		for _, q := range l.ports {
			if q.stage == nil {
				q.stage = newStage(l.opt.BatchBytes)
			}
		}
	}
	if err := l.listen(); err != nil {
		p.returned = 0
		return
	}
	l.notify(Notice{Interface: p.name, Text: p.name + ": the interface is back"})
}

// reopen opens an interface again, where that was not given up.
func (l *Live) reopen(name string) (*port, error) {
	if l.denied {
		return nil, ErrPermission
	}
	return openPort(name, &l.opt)
}

// spareUsed reports whether an interface is read with the standby.
func (l *Live) spareUsed() bool { return l.spare != nil && l.spare.stage != nil }

// listen sets the standby's filter to the interfaces that came back.
func (l *Live) listen() error {
	if l.spare == nil {
		return nil
	}
	var indices []string
	for _, p := range l.ports {
		if p.returned != 0 {
			indices = append(indices, "ifindex "+strconv.Itoa(p.returned))
		}
	}
	filter := nothing
	if len(indices) > 0 {
		filter = "(" + strings.Join(indices, " or ") + ")"
		if l.opt.Filter != "" {
			filter += " and (" + l.opt.Filter + ")"
		}
	}
	return l.spare.refilter(filter)
}

// lower makes libpcap's sentence the end of one of ours.
func lower(s string) string {
	s = strings.TrimSuffix(s, ".")
	if len(s) > 1 && s[0] >= 'A' && s[0] <= 'Z' && (s[1] < 'A' || s[1] > 'Z') {
		return string(s[0]+'a'-'A') + s[1:]
	}
	return s
}
