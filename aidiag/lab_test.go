package aidiag

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"netwhy/aidiag/faulttest"
	"netwhy/aidiag/internal/redact"
	"netwhy/analyze"
	"netwhy/analyze/finding"

	"netwhy/capture"
	"netwhy/rules"
	"netwhy/rules/diagnosis"
)

// sharedFolder finds a folder of captures, or skips the test; in CI it must be
// there.
func sharedFolder(t *testing.T, name string) string {
	t.Helper()
	root := os.Getenv("NETWHY_SHARED")
	if root == "" {
		dir, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if st, err := os.Stat(filepath.Join(dir, "shared", name)); err == nil && st.IsDir() {
				root = filepath.Join(dir, "shared")
				break
			}
		}
	}
	folder := filepath.Join(root, name)
	if st, err := os.Stat(folder); root == "" || err != nil || !st.IsDir() {
		if os.Getenv("CI") == "true" {
			t.Fatalf("no captures %q: set NETWHY_SHARED to the folder that has them", name)
		}
		t.Skipf("no captures %q here; set NETWHY_SHARED to the folder that has them", name)
	}
	return folder
}

// originals are what a capture holds and nobody may be told, read from its raw
// frames, without the analyzers that might err: MACs, addresses, and every run
// of printable bytes.
type originals struct {
	addresses map[string]bool
	seen      map[string]bool
	texts     map[window][]string // by how they begin
}

// window is the shortest piece of a payload that is looked for: what begins with
// a piece that a document does not hold is not in it.
type window [8]byte

func readOriginals(t *testing.T, path string) originals {
	t.Helper()
	o := originals{addresses: map[string]bool{}, seen: map[string]bool{}, texts: map[window][]string{}}
	f, err := capture.Open(t.Context(), []string{path}, capture.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for {
		b, err := f.Next(t.Context())
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, context.Canceled) {
				t.Logf("%s: %v", path, err)
			}
			return o
		}
		for i := range b.Frames {
			o.frame(b.Data(&b.Frames[i]))
		}
		b.Release()
	}
}

func (o *originals) frame(d []byte) {
	if len(d) < 34 {
		return
	}
	o.address(d[0:6])
	o.address(d[6:12])
	switch kind := uint16(d[12])<<8 | uint16(d[13]); {
	case kind == 0x0800:
		o.address(d[26:30])
		o.address(d[30:34])
	case kind == 0x86dd && len(d) >= 54:
		o.address(d[22:38])
		o.address(d[38:54])
	}
	start := -1
	for i := 34; i <= len(d); i++ {
		if i < len(d) && d[i] > ' ' && d[i] < 0x7f {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 && i-start >= len(window{}) {
			o.text(d[start:min(i, start+64)])
		}
		start = -1
	}
}

// address notes a MAC or an address of IP as it is written.
func (o *originals) address(b []byte) {
	if o.seen[string(b)] {
		return
	}
	o.seen[string(b)] = true
	if a, ok := netip.AddrFromSlice(b); ok {
		if !a.IsUnspecified() {
			o.addresses[a.String()] = true
		}
		return
	}
	o.addresses[net.HardwareAddr(b).String()] = true
}

func (o *originals) text(b []byte) {
	const most = 20000
	if o.seen[string(b)] || len(o.seen) >= most {
		return
	}
	s := string(b)
	o.seen[s] = true
	begin := window([]byte(s))
	o.texts[begin] = append(o.texts[begin], s)
}

// in returns the payloads that a document holds.
func (o *originals) in(doc string) (found []string) {
	looked := map[window]bool{}
	for i := range len(doc) - len(window{}) + 1 {
		w := window([]byte(doc[i : i+len(window{})]))
		if looked[w] {
			continue
		}
		looked[w] = true
		for _, s := range o.texts[w] {
			if strings.Contains(doc, s) {
				found = append(found, s)
			}
		}
	}
	return found
}

// casesOfCapture are those of its diagnoses, and one of everything else that was
// found, so that healthy captures are tried too.
func casesOfCapture(t *testing.T, set *rules.Set, path string) []Case {
	t.Helper()
	f, err := capture.Open(t.Context(), []string{path}, capture.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	res, err := analyze.Run(t.Context(), f, analyze.Options{}, nil)
	if err != nil {
		t.Logf("%s: %v", path, err)
	}
	said, _ := set.Diagnose(&rules.Input{
		Findings: res.Findings, Connection: res.Connection, Trust: res.Trust, Packets: res.Packets, Bytes: res.Bytes, Duration: res.Last - res.First,
		TCP: res.TCPConversations, UDP: res.UDPConversations,
	}, rules.Options{})
	rest := diagnosis.Diagnosis{Cause: "other", Culprit: diagnosis.None, Severity: finding.Notice, Origin: diagnosis.ByRules, Title: path}
	for i := range res.Findings {
		rest.Evidence = append(rest.Evidence, i)
	}
	for i := range res.Connections {
		rest.Connections = append(rest.Connections, res.Connections[i].ID)
	}
	if len(res.Findings) > 0 {
		said = append(said, rest)
	}
	return Cases(Result{Findings: res.Findings, Connection: res.Connection, Trust: res.Trust}, said)
}

// TestLabCapturesStayPrivate takes every byte that is sent for every capture of
// the fault lab and finds no address, MAC, name, path, user or payload of it.
func TestLabCapturesStayPrivate(t *testing.T) {
	t.Parallel()
	folder := sharedFolder(t, "lab")
	files, err := filepath.Glob(filepath.Join(folder, "*.pcap*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no captures in %s: %v", folder, err)
	}
	set, err := rules.Load(analyze.Defs())
	if err != nil {
		t.Fatal(err)
	}
	w, ours := newWorld(t, faulttest.Healthy()), publicWords()
	w.lonely(0)
	w.cfg.Cache = false
	w.deps.Defs = analyze.Defs()
	sent := 0
	for _, path := range files {
		name := filepath.Base(path)
		cases := casesOfCapture(t, set, path)
		if len(cases) == 0 {
			continue
		}
		for _, a := range w.engine().AskAll(t.Context(), cases) {
			if a.State != Answered {
				t.Errorf("%s %s: %s: %s (%v)", name, a.Local.Cause, a.State, a.Reason, a.Rejected)
			}
			if n := len(a.Decisions); n != 1 {
				t.Errorf("%s: %d attempts", name, n)
			}
		}
		o, requests := readOriginals(t, path), w.a1.Requests()[sent:]
		if len(requests) != len(cases) {
			t.Errorf("%s: %d requests for %d cases", name, len(requests), len(cases))
		}
		names := namesIn(cases)
		for _, r := range requests {
			checkPrivate(t, name, &o, r, ours)
			_, doc, _ := strings.Cut(r.User(), `{"rules_say"`) // what stands before it is our own, the same for all
			for _, n := range names {
				if strings.Contains(doc, n) && !strings.Contains(ours, n) {
					t.Errorf("%s: %q was sent", name, n)
				}
			}
		}
		sent += len(requests)
	}
	if sent == 0 {
		t.Error("nothing was sent")
	}
	t.Logf("%d requests of %d captures", sent, len(files))
}

// namesIn are the texts that the analyzers took from packets: names, users, paths,
// banners, also those too short to be told from chance among raw bytes.
func namesIn(cases []Case) []string {
	seen := map[string]bool{}
	add := func(s string) {
		const least = 4
		if len(s) >= least && !redact.Allowed(s) {
			seen[s] = true
		}
	}
	for i := range cases {
		for _, f := range cases[i].Findings {
			for _, v := range f.Finding.Values {
				add(v.Text)
			}
		}
		for j := range cases[i].Connections {
			s := &cases[i].Connections[j]
			add(s.Name)
			for _, v := range s.Attr {
				add(v)
			}
			if s.Worst != nil {
				add(s.Worst.Label)
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func checkPrivate(t *testing.T, name string, o *originals, r faulttest.Request, ours string) {
	t.Helper()
	all := strings.ToLower(string(r.Body) + fmt.Sprint(r.Header))
	for a := range o.addresses {
		if len(a) > 3 && strings.Contains(all, a) {
			t.Errorf("%s: address %s was sent", name, a)
		}
	}
	user := r.User()
	i := strings.Index(user, `{"rules_say"`)
	if i < 0 {
		t.Errorf("%s: no document", name)
		return
	}
	for _, s := range o.in(user[i:]) {
		if !strings.Contains(ours, s) && !redact.Allowed(s) {
			t.Errorf("%s: payload %q was sent", name, s)
		}
	}
	if n := llmTokens(r.Body); n > maxCaseTokens {
		t.Errorf("%s: about %d tokens", name, n)
	}
	const most = 48 << 10
	if len(r.Body) > most {
		t.Errorf("%s: %d bytes were sent, more than %d", name, len(r.Body), most)
	}
}

// TestOriginalsAreFound: the check above finds what it is there to find.
func TestOriginalsAreFound(t *testing.T) {
	t.Parallel()
	o := originals{addresses: map[string]bool{}, seen: map[string]bool{}, texts: map[window][]string{}}
	frame := append([]byte{0, 0x1b, 0x44, 0x11, 0x3a, 0xb7, 2, 0, 0, 0, 0, 1, 8, 0, 0x45}, make([]byte, 19)...)
	copy(frame[26:], []byte{10, 0, 0, 5, 192, 168, 1, 7})
	o.frame(append(frame, "GET /secret/path hunter2hunter2 \x00\x01short\x02db.corp.example"...))
	for _, want := range []string{"00:1b:44:11:3a:b7", "10.0.0.5", "192.168.1.7"} {
		if !o.addresses[want] {
			t.Errorf("%s was not noted: %v", want, o.addresses)
		}
	}
	got := o.in(`{"a":"hunter2hunter2","b":"x/secret/pathx","c":"short","d":"db.corp.exampl"}`)
	slices.Sort(got)
	if !slices.Equal(got, []string{"/secret/path", "hunter2hunter2"}) {
		t.Errorf("found %q", got)
	}
}

// publicWords are those of our own that a payload may hold by chance: names of
// codes, metrics and causes.
func publicWords() string {
	var b strings.Builder
	for _, d := range analyze.Defs() {
		b.WriteString(string(d.Code) + " " + d.Doc + " ")
		for _, m := range d.Metrics {
			b.WriteString(m.Name + " ")
		}
	}
	return b.String()
}
