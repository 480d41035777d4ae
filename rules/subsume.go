package rules

import (
	"cmp"
	"net/netip"

	"netwhy/analyze/conn"
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
	for _, h := range hits {
		for _, s := range h.rule.Subsumes {
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
		h.into = reason(h, index)
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

// reason finds the nearest cause of a hit.
func reason(h *hit, index map[nearness]*hit) *hit {
	for where := SameConnection; where <= Anywhere; where++ {
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

func endsOf(c *conn.Summary, where Relation) []nearness {
	client, server := c.Client.Addr.Addr(), c.Server.Addr.Addr()
	switch where {
	case SameConnection:
		return []nearness{{id: c.ID}}
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

func compareIDs(a, b flow.ID) int {
	return cmp.Or(cmp.Compare(a.Proto, b.Proto), cmp.Compare(a.Stream, b.Stream))
}
