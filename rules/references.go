package rules

import (
	"slices"

	"netwhy/rules/near"
)

// references checks what a rule says of others: the causes that it names exist,
// and no cause is in the end the reason of itself.
func (l *loader) references() {
	known := append(causes(), l.absent...)
	for _, r := range l.byID {
		known = append(known, string(r.Cause), r.ID)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	for _, id := range near.Sorted(l.byID) {
		r := l.byID[id]
		for _, c := range r.Rivals() {
			if !slices.Contains(known, string(c)) {
				l.faults.add(r.Pos, r.ID, near.Hint(string(c), known), "excludes: unknown cause %q", c)
			}
		}
		for _, s := range r.Subsumes {
			if !slices.Contains(known, string(s.Cause)) {
				l.faults.add(r.Pos, r.ID, near.Hint(string(s.Cause), known), "subsumes: unknown cause %q", s.Cause)
			}
		}
		if l.circle(r, r, make(map[string]bool)) {
			l.faults.add(r.Pos, r.ID, "", "subsumes: %s would be the reason of itself in the end", r.Cause)
		}
	}
}

// circle reports whether to is among what from explains, directly or by others.
func (l *loader) circle(from, to *Rule, seen map[string]bool) bool {
	for id, r := range l.byID {
		if !from.explains(r) {
			continue
		}
		if r == to {
			return true
		}
		if !seen[id] {
			seen[id] = true
			if l.circle(r, to, seen) {
				return true
			}
		}
	}
	return false
}

// explains reports whether r is the reason of what effect says.
func (r *Rule) explains(effect *Rule) bool {
	return slices.ContainsFunc(r.Subsumes, func(s Subsumption) bool {
		return s.Cause == effect.Cause || string(s.Cause) == effect.ID
	})
}
