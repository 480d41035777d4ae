package redact

import (
	_ "embed"
	"encoding/hex"
	"net"
	"sort"
	"strings"
)

//go:generate go run vendors_gen.go

// vendors has a line for each prefix, sorted: "00000c cisco".
//
//go:embed vendors.txt
var vendors string

// vendor tells who made a station's interface, in a word: a vendor's name, "local"
// for an address that somebody chose (IEEE 802, 8.4), "group" for one of several
// stations; empty where it is not known.
func vendor(mac string) string {
	a, err := net.ParseMAC(mac)
	if err != nil || len(a) < 3 {
		return ""
	}
	const group, local = 1, 2 // bits of the first byte
	switch {
	case a[0]&group != 0:
		return "group"
	case a[0]&local != 0:
		return "local"
	}
	prefix := hex.EncodeToString(a[:3])
	// A search over bytes: whatever it hits, the line around it is compared.
	line := func(i int) string {
		from := strings.LastIndexByte(vendors[:i], '\n') + 1
		text, _, _ := strings.Cut(vendors[from:], "\n")
		return text
	}
	at := sort.Search(len(vendors), func(i int) bool { return line(i) >= prefix })
	if at == len(vendors) {
		return ""
	}
	name, ok := strings.CutPrefix(line(at), prefix+" ")
	if !ok {
		return ""
	}
	return name
}
