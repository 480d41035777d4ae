//go:build ignore

// Writes vendors.txt: the prefixes of the vendors that have some (IEEE's public
// list, as gopacket carries it), one a line, sorted.
package main

import (
	"encoding/hex"
	"os"
	"slices"
	"strings"

	"github.com/google/gopacket/macs"
)

func main() {
	const some = 3 // prefixes of a vendor: what has fewer is hardly ever met
	count := map[string]int{}
	for _, name := range macs.ValidMACPrefixMap {
		count[word(name)]++
	}
	var lines []string
	for prefix, name := range macs.ValidMACPrefixMap {
		if w := word(name); w != "" && count[w] >= some {
			lines = append(lines, hex.EncodeToString(prefix[:])+" "+w+"\n")
		}
	}
	slices.Sort(lines)
	if err := os.WriteFile("vendors.txt", []byte(strings.Join(lines, "")), 0o644); err != nil {
		panic(err)
	}
}

// word is the first word of a vendor's name; empty where it says nothing.
func word(name string) string {
	w, _, _ := strings.Cut(strings.ToLower(name), " ")
	w = strings.Trim(w, ",.")
	if len(w) < 3 || len(w) > 16 || strings.Trim(w, "abcdefghijklmnopqrstuvwxyz") != "" || w == "private" || w == "the" {
		return ""
	}
	return w
}
