package eigrp

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"

	"netwhy/analyze/finding"
	"netwhy/analyze/proto"
)

const (
	maxSpeakers = 64
	// A neighbour is held for three hellos (RFC 7868, 5.3.1 and 6.6.2): who is on the
	// link was heard within them.
	enoughHellos = 3
	// Neighbours share a subnet (RFC 7868, 5.3.1), whose size hellos do not tell: links
	// of routers are no larger than this.
	linkBits4, linkBits6 = 24, 64
)

// speaker is a router in one autonomous system on one link.
type speaker struct {
	link netip.Prefix
	vlan uint16
	addr netip.Addr
	as   uint16
}

type greetings struct{ ev finding.Evidence }

// greets notes a hello.
func (a *analyzer) greets(s *proto.Scope, from netip.Addr, as uint16) {
	bits := linkBits4
	if from.Is6() {
		bits = linkBits6
	}
	k := speaker{addr: from, as: as}
	k.link, _ = from.Prefix(bits)
	if p := s.Packet(); p.VLANs > 0 {
		k.vlan = p.VLAN
	}
	g := a.heard[k]
	if g == nil {
		if len(a.heard) >= maxSpeakers {
			return
		}
		g = &greetings{}
		a.heard[k] = g
	}
	g.ev.Add(s.Frame(), s.Now())
}

// alone tells of pairs of routers on a link that have no autonomous system in common,
// the first of which shares its own with nobody there.
func (a *analyzer) alone(s *proto.Scope) {
	all := slices.SortedFunc(maps.Keys(a.heard), func(x, y speaker) int {
		return cmp.Or(cmp.Compare(a.heard[x].ev.First, a.heard[y].ev.First), cmp.Compare(x.as, y.as))
	})
	told := map[netip.Addr]bool{}
	for _, x := range all {
		if told[x.addr] || !x.lonely(all) {
			continue
		}
		for _, y := range all {
			if !x.neighbours(y) || told[y.addr] {
				continue
			}
			ev, other := a.heard[x].ev, &a.heard[y].ev
			if ev.Count < enoughHellos || other.Count < enoughHellos {
				continue
			}
			hellos := ev.Count
			if ev.Join(other); other.First < ev.First {
				ev.First, ev.Start = other.First, other.Start
			}
			told[x.addr] = true
			s.ReportEvidence(x.addr, OtherAS, ev, finding.Text(x.addr.String()), finding.Num(x.as),
				finding.Text(y.addr.String()), finding.Num(y.as), finding.Num(hellos))
			break
		}
	}
}

func (x speaker) neighbours(y speaker) bool {
	return x.link == y.link && x.vlan == y.vlan && x.addr != y.addr
}

// lonely reports whether a router shares none of its autonomous systems with another
// router of the link.
func (x speaker) lonely(all []speaker) bool {
	for _, own := range all {
		if own.addr != x.addr || own.link != x.link || own.vlan != x.vlan {
			continue
		}
		for _, y := range all {
			if own.neighbours(y) && own.as == y.as {
				return false
			}
		}
	}
	return true
}
