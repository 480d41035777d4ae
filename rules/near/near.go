// Package near finds the known name that a misspelt one was probably meant to
// be. Rules, configuration and command line share it, so that a hint is the same
// wherever a name is wrong.
package near

import "slices"

// maxLength bounds the names compared: longer ones are no slips of the finger,
// and the distance costs length times length.
const maxLength = 80

// Name returns the known name with the smallest edit distance to name, the first
// of them in the order given. ok is false when none is near enough: more than a
// third of the letters would have to change.
func Name(name string, known []string) (match string, ok bool) {
	if name == "" || len(name) > maxLength {
		return "", false
	}
	best := max(1, len([]rune(name))/3) + 1
	for _, k := range known {
		if len(k) > maxLength || k == name {
			continue
		}
		if d := Distance(name, k); d < best {
			best, match, ok = d, k, true
		}
	}
	return match, ok
}

// Hint is Name in the form that error messages end with: `; did you mean "x"?`,
// or nothing.
func Hint(name string, known []string) string {
	if m, ok := Name(name, known); ok {
		return `; did you mean "` + m + `"?`
	}
	return ""
}

// Distance is the number of letters to insert, delete, replace or swap with
// their neighbour to make b of a (optimal string alignment).
func Distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		row[0] = i + 1
		for j := range y {
			replace := last[j]
			if x[i] != y[j] {
				replace++
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, replace)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}

// Sorted returns the keys of a map in order: what Name wants for a hint that is
// the same every time.
func Sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
