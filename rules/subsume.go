package rules

import (
	"net/netip"

	"netwhy/analyze/flow"
	"netwhy/rules/diagnosis"
)

// place where a cause was found, as a relation sees it.
type nearness struct {
	cause diagnosis.Cause // the effect, or the id of its rule
	where Relation
	id    flow.ID
	a, b  netip.Addr
}

// subsume gives each effect to its cause: a hit whose cause another hit near by
// is said to be the reason of is no diagnosis of its own. What is explained by
// something that is itself explained goes to the first cause of all.
func subsume(hits []*hit) []*hit {
	index := make(map[nearness]*hit)
	met := make(map[diagnosis.Cause]bool) // causes and rules that hold
	for _, h := range hits {
		met[h.rule.Cause], met[diagnosis.Cause(h.rule.ID)] = true, true
	}
	wanted := make(map[diagnosis.Cause]uint8) // of those that are effects: bits of the relations
	for _, h := range hits {
		for _, s := range h.rule.Subsumes {
			if !met[s.Cause] {
				continue
			}
			wanted[s.Cause] |= 1 << s.Where
			for _, k := range h.ends(s.Where) {
				k.cause, k.where = s.Cause, s.Where
				if index[k] == nil {
					index[k] = h
				}
			}
		}
	}
	if len(index) == 0 {
		return hits
	}
	for _, h := range hits {
		if w := wanted[h.rule.Cause] | wanted[diagnosis.Cause(h.rule.ID)]; w != 0 {
			h.into = reason(h, index, w)
		}
	}
	out := hits[:0:0]
	for _, h := range hits {
		root := h
		for n := 0; root.into != nil && n < len(hits); n++ {
			root = root.into
		}
		if root == h {
			out = append(out, h)
			continue
		}
		root.absorbed = append(root.absorbed, h)
	}
	return out
}

// reason finds the nearest cause of a hit, by the relations whose bits are set.
func reason(h *hit, index map[nearness]*hit, relations uint8) *hit {
	for where := SameConnection; where <= Anywhere; where++ {
		if relations&(1<<where) == 0 {
			continue
		}
		for _, k := range h.seenAs(where) {
			for _, name := range []diagnosis.Cause{h.rule.Cause, diagnosis.Cause(h.rule.ID)} {
				k.cause, k.where = name, where
				if c := index[k]; c != nil && c != h {
					return c
				}
			}
		}
	}
	return nil
}

// ends is where a cause reaches.
func (h *hit) ends(where Relation) (out []nearness) {
	if where == Anywhere {
		return []nearness{{}}
	}
	if a := h.sub.addr; a.IsValid() && where != SameConnection && where != SamePair {
		out = append(out, nearness{a: a})
		if where != SameHost {
			return out
		}
	}
	for _, c := range h.conns {
		out = append(out, endsOf(c, where)...)
	}
	return out
}

// seenAs is how an effect looks for its cause.
func (h *hit) seenAs(where Relation) (out []nearness) {
	if where == Anywhere {
		return []nearness{{}}
	}
	if a := h.sub.addr; a.IsValid() && where != SameConnection && where != SamePair {
		out = append(out, nearness{a: a})
	}
	for _, c := range h.conns {
		out = append(out, endsOf(c, where)...)
	}
	return out
}

func endsOf(t *talk, where Relation) []nearness {
	client, server := t.client.Addr(), t.server.Addr()
	switch where {
	case SameConnection:
		return []nearness{{id: t.id}}
	case SamePair:
		return []nearness{{a: client, b: server}}
	case SameServer:
		return []nearness{{a: server}}
	case SameClient:
		return []nearness{{a: client}}
	case SameHost:
		return []nearness{{a: client}, {a: server}}
	case Anywhere:
		return []nearness{{}}
	default:
		return nil
	}
}
