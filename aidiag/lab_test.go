package aidiag

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
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
	texts     map[string]bool
}

func readOriginals(t *testing.T, path string) originals {
	t.Helper()
	o := originals{addresses: map[string]bool{}, texts: map[string]bool{}}
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
	for _, mac := range [][]byte{d[0:6], d[6:12]} {
		parts := make([]string, 6)
		for i, x := range mac {
			parts[i] = fmt.Sprintf("%02x", x)
		}
		o.addresses[strings.Join(parts, ":")] = true
	}
	switch kind := uint16(d[12])<<8 | uint16(d[13]); {
	case kind == 0x0800:
		o.addr(d[26:30])
		o.addr(d[30:34])
	case kind == 0x86dd && len(d) >= 54:
		o.addr(d[22:38])
		o.addr(d[38:54])
	}
	const least = 8
	start := -1
	for i := 34; i <= len(d); i++ {
		if i < len(d) && d[i] > ' ' && d[i] < 0x7f {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 && i-start >= least && len(o.texts) < 20000 {
			o.texts[string(d[start:min(i, start+64)])] = true
		}
		start = -1
	}
}

func (o *originals) addr(b []byte) {
	if a, ok := netip.AddrFromSlice(b); ok && !a.IsUnspecified() {
		o.addresses[a.String()] = true
	}
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
	sent := 0
	for _, path := range files {
		name := filepath.Base(path)
		cases := casesOfCapture(t, set, path)
		if len(cases) == 0 {
			continue
		}
		w := newWorld(t, faulttest.Healthy())
		w.lonely(0)
		w.cfg.Cache = false
		w.deps.Defs = analyze.Defs()
		e := w.engine()
		ended := make(chan error, 1)
		go func() { ended <- e.Run(t.Context()) }()
		for _, c := range cases {
			a := ask(t, e, c)
			if a.State != Answered {
				t.Errorf("%s %s: %s: %s (%v)", name, c.Local.Cause, a.State, a.Reason, a.Rejected)
			}
			if n := len(a.Decisions); n != 1 {
				t.Errorf("%s: %d attempts", name, n)
			}
		}
		e.Finish()
		<-ended
		o := readOriginals(t, path)
		for _, r := range w.a1.Requests() {
			sent++
			checkPrivate(t, name, o, r)
		}
		w.a1.Close()
	}
	if sent == 0 {
		t.Error("nothing was sent")
	}
	t.Logf("%d requests of %d captures", sent, len(files))
}

func checkPrivate(t *testing.T, name string, o originals, r faulttest.Request) {
	t.Helper()
	all := strings.ToLower(string(r.Body) + fmt.Sprint(r.Header))
	for a := range o.addresses {
		if strings.Contains(all, a) && len(a) > 3 {
			t.Errorf("%s: address %s was sent", name, a)
		}
	}
	user := r.User()
	i := strings.Index(user, `{"rules_say"`)
	if i < 0 {
		t.Errorf("%s: no document", name)
		return
	}
	doc, ours := user[i:], publicWords()
	for s := range o.texts {
		if strings.Contains(doc, s) && !strings.Contains(ours, s) && !redact.Allowed(s) {
			t.Errorf("%s: payload %q was sent", name, s)
		}
	}
	if n := llmTokens(r.Body); n > maxCaseTokens {
		t.Errorf("%s: about %d tokens", name, n)
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
