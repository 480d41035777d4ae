package proto

import (
	"strconv"
	"strings"
	"testing"
)

// Conversations that find the same share the set of it; each has its own otherwise.
func TestEqualFactsAreKeptOnce(t *testing.T) {
	t.Parallel()
	var s Scope
	facts := make([]Facts, 3)
	for i, value := range []string{"a", "a", "b"} {
		s.Facts = &facts[i]
		s.Attr("first", value)
		s.Attr("second", "x")
		s.Attr("first", "too late")
	}
	if facts[0].attrs != facts[1].attrs || facts[0].attrs == facts[2].attrs {
		t.Error("sets are not shared as they should be")
	}
	for i, want := range []string{"a", "a", "b"} {
		if got := facts[i].Attrs(); len(got) != 2 || got["first"] != want || got["second"] != "x" {
			t.Errorf("conversation %d: %v", i, got)
		}
	}
	if (&Facts{}).Attrs() != nil {
		t.Error("facts out of nothing")
	}
}

// What hostile conversations say is bounded: in each of them, and in the lane.
func TestKeptIsBounded(t *testing.T) {
	t.Parallel()
	var s Scope
	var one Facts
	s.Facts = &one
	for i := range 2 * MaxAttrs {
		s.Attr(strconv.Itoa(i), strings.Repeat("x", 2*MaxAttrBytes))
	}
	if got := one.Attrs(); len(got) != MaxAttrs || len(got["0"]) != MaxAttrBytes {
		t.Errorf("%d facts of %d bytes", len(got), len(got["0"]))
	}
	for i := range 2 * maxKeptFact {
		s.Facts = &Facts{}
		s.Attr("name", strconv.Itoa(i))
		if w := s.Word([]byte(strconv.Itoa(i))); w != strconv.Itoa(i) || s.Facts.Attrs()["name"] != w {
			t.Fatalf("%d became %q and %v", i, w, s.Facts.Attrs())
		}
	}
	if len(s.keeps.facts) > maxKeptFact {
		t.Errorf("%d sets are remembered", len(s.keeps.facts))
	}
}

// A word that comes again costs nothing, and a lane has one of each kind of thing.
func TestKept(t *testing.T) {
	var s Scope
	type thing struct{ n int }
	Kept[thing](&s).n = 7
	copied := s
	if Kept[thing](&copied).n != 7 || *Kept[int](&s) != 0 {
		t.Error("things are not those of the lane")
	}
	word := []byte("www.example.test")
	s.Word(word)
	if n := testing.AllocsPerRun(100, func() { s.Word(word) }); n != 0 {
		t.Errorf("%v allocations a word", n)
	}
	if s.Word(nil) != "" || len(s.Word(make([]byte, 2*maxWordLen))) != 2*maxWordLen {
		t.Error("words changed")
	}
}
