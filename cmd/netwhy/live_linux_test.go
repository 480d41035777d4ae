//go:build linux && cgo

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"netwhy/capture"
	"netwhy/capture/livetest"
)

// watcher is a netwhy that captures.
type watcher struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout bytes.Buffer

	mu     sync.Mutex
	stderr strings.Builder
	read   chan struct{}
}

// watch starts netwhy capture and returns when the interfaces are open and the
// privileges given up.
func watch(t *testing.T, args ...string) *watcher {
	t.Helper()
	return watchBy(t, netwhyCommand(t, captureArgs(args)...))
}

func captureArgs(args []string) []string {
	return append([]string{"capture", "-i", livetest.Here, "--log-level", "info"}, args...)
}

// watchBy is watch by a command of its own.
func watchBy(t *testing.T, cmd *exec.Cmd) *watcher {
	t.Helper()
	w := &watcher{t: t, cmd: cmd, read: make(chan struct{})}
	w.startTo(&w.stdout)
	return w
}

// startTo starts netwhy with its report going somewhere.
func (w *watcher) startTo(stdout io.Writer) {
	w.t.Helper()
	w.cmd.Env = append(w.cmd.Env, "SUDO_UID=", "NETWHY_CAPTURE_BUFFER=16MiB")
	w.cmd.Stdout = stdout
	pipe, err := w.cmd.StderrPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		defer close(w.read)
		lines := bufio.NewScanner(pipe)
		for lines.Scan() {
			w.mu.Lock()
			w.stderr.WriteString(lines.Text() + "\n")
			w.mu.Unlock()
		}
	}()
	w.said("capture begins")
}

// said waits until something was written to standard error.
func (w *watcher) said(part string) {
	w.t.Helper()
	if !within(func() bool { return strings.Contains(w.log(), part) }) {
		w.t.Fatalf("never said: %q; said was:\n%s", part, w.log())
	}
}

func within(ok func() bool) bool {
	for range 6000 { // a minute, on a machine however busy
		if ok() {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

func (w *watcher) log() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stderr.String()
}

// end sends SIGINT and returns the exit code and how long the end took.
func (w *watcher) end() (code int, took time.Duration) {
	w.t.Helper()
	began := time.Now()
	if err := w.cmd.Process.Signal(os.Interrupt); err != nil {
		w.t.Fatal(err)
	}
	return w.wait(), time.Since(began)
}

func (w *watcher) wait() int {
	w.t.Helper()
	<-w.read
	err := w.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	return w.cmd.ProcessState.ExitCode()
}

// refusals make a fault that everybody understands: nobody listens on the port.
func refusals(t *testing.T, n int) {
	t.Helper()
	for range n {
		d := net.Dialer{Timeout: 2 * time.Second}
		if c, err := d.DialContext(t.Context(), "tcp", livetest.ThereIP+":81"); err == nil {
			_ = c.Close()
			t.Fatal("somebody listens on port 81")
		}
	}
}

func get(t *testing.T, url string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return http.DefaultClient.Do(req)
}

// scraped is what an address serves; empty: nothing.
func scraped(t *testing.T, url string) string {
	t.Helper()
	resp, err := get(t, url)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return string(b)
}

// TestCaptureGivesPrivilegesUp looks at what the kernel says of every thread.
func TestCaptureGivesPrivilegesUp(t *testing.T) {
	n := livetest.Alone(t)
	if n == nil {
		return
	}
	for _, tt := range []struct{ name, user, uid string }{
		{"nobody", "", "65534"}, {"named", "daemon", "1"}, {"by number", "2", "2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(openDir(t), "all.pcapng")
			args := []string{"--no-screen", "-w", file}
			if tt.user != "" {
				args = append(args, "--user", tt.user)
			}
			w := watch(t, args...)
			refusals(t, 1)
			powerless(t, w.cmd.Process.Pid, tt.uid, map[string]string{"CapBnd": "0000000000000000"})
			if st, err := os.Stat(file); err != nil || strconv.Itoa(int(st.Sys().(*syscall.Stat_t).Uid)) != tt.uid {
				t.Errorf("the recording is not that user's: %v", err)
			}
			code, took := w.end()
			if code != 130 {
				t.Errorf("exit code %d", code)
			}
			t.Logf("ended within %v", took)
			if !strings.Contains(w.stdout.String(), "refused") {
				t.Errorf("the report does not tell the refused connection:\n%s", w.stdout.String())
			}
		})
	}
	t.Run("nobody known", func(t *testing.T) {
		cmd := netwhyCommand(t, "capture", "-i", livetest.Here, "--user", "no-such-user")
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "there is no such user") {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// TestCaptureTellsWhileItHappens: NDJSON lines, the line on the terminal, the
// evidence around the diagnosis, the report of the moment, reload.
func TestCaptureTellsWhileItHappens(t *testing.T) {
	n := livetest.Alone(t)
	if n == nil {
		return
	}
	dir := openDir(t)
	stream, doc, evidence := filepath.Join(dir, "events.ndjson"), filepath.Join(dir, "report.json"), filepath.Join(dir, "evidence")
	rulesDir, conf := openDir(t), filepath.Join(openDir(t), "netwhy.yaml")
	if err := os.WriteFile(conf, []byte("limits: {workers: 2}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	type alert struct {
		Schema     string
		Interfaces []string
		Diagnosis  struct{ Cause string }
	}
	hooked := make(chan alert, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var a alert
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
			t.Error(err)
		}
		hooked <- a
	}))
	defer hook.Close()
	w := watch(t, "--no-screen", "--format", "ndjson", "-o", stream, "--format", "json", "-o", doc, "--evidence", evidence, "--ring", "4MiB",
		"--rules", rulesDir, "--config", conf, "--metrics", "127.0.0.1:9469", "--lang", "en", "--alert-webhook", hook.URL)
	refusals(t, 5)
	w.said(" D1: ") // the line
	events := func() string { b, _ := os.ReadFile(stream); return string(b) }
	if !within(func() bool { return strings.Contains(events(), `"event":"diagnosis"`) }) {
		t.Fatalf("no diagnosis within 10 s:\n%s\n%s", events(), w.log())
	}
	if err := w.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	w.said("report of the moment is in")
	moments, _ := filepath.Glob(filepath.Join(dir, "report-*.json"))
	if len(moments) != 1 {
		t.Errorf("reports of the moment: %v", moments)
	}
	if err := os.WriteFile(filepath.Join(rulesDir, "bad.yaml"), []byte("- id: [\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_ = w.cmd.Process.Signal(syscall.SIGHUP)
	w.said("reload refused, the old rules stay")
	_ = os.Remove(filepath.Join(rulesDir, "bad.yaml"))
	if err := os.WriteFile(conf, []byte("limits: {workrs: 2}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_ = w.cmd.Process.Signal(syscall.SIGHUP)
	w.said("reload refused, the old configuration stays")
	_ = os.Remove(conf)
	if err := os.WriteFile(conf, []byte("report: {lang: zh}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_ = w.cmd.Process.Signal(syscall.SIGHUP)
	w.said("rules are in force; what has changed of ai and limits takes a new start")
	want := []string{
		`netwhy_diagnoses{cause="connection-refused"`, `netwhy_dropped_total{where="kernel"} 0`, "netwhy_queue_batches_limit 64",
		`netwhy_connections_total{proto="tcp"} 5`, "netwhy_tcp_handshake_seconds_count", "netwhy_server_think_seconds_count",
	}
	if served := ""; !within(func() bool {
		served = scraped(t, "http://127.0.0.1:9469/metrics")
		return !slices.ContainsFunc(want, func(x string) bool { return !strings.Contains(served, x) })
	}) {
		t.Errorf("the metrics lack one of %q:\n%s", want, served)
	}
	if got := <-hooked; got.Schema != "netwhy.alert/1" || got.Diagnosis.Cause != "connection-refused" || !slices.Equal(got.Interfaces, []string{livetest.Here}) {
		t.Errorf("the webhook got %+v", got)
	}
	refusals(t, 1) // the last before the end
	if code, _ := w.end(); code != 130 {
		t.Errorf("exit code %d", code)
	}
	told := map[string]int{}
	for line := range strings.Lines(events()) {
		var e struct{ Event, ID, Cause string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		told[e.Event]++
	}
	if told["report"] != 1 || told["diagnosis"] < 2 || told["finding"] == 0 {
		t.Errorf("events: %v", told)
	}
	var r struct {
		Source    struct{ Kind string }
		Diagnoses []struct{ ID, Cause string }
	}
	b, err := os.ReadFile(doc)
	if err := errors.Join(err, json.Unmarshal(b, &r)); err != nil {
		t.Fatal(err)
	}
	if r.Source.Kind != "live" || len(r.Diagnoses) != 1 || r.Diagnoses[0].Cause != "connection-refused" {
		t.Errorf("report: %+v", r)
	}
	files, _ := filepath.Glob(filepath.Join(evidence, "*-connection-refused.pcapng"))
	if len(files) != 1 {
		t.Fatalf("evidence: %v\n%s", files, w.log())
	}
	if got := countFrames(t, files[0]); got < 10 {
		t.Errorf("the evidence has %d frames, want the 5 SYNs and their RSTs at least", got)
	}
}

// openDir is a folder that the user nobody can write to.
func openDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func countFrames(t *testing.T, name string) uint64 {
	t.Helper()
	f, err := capture.Open(t.Context(), []string{name}, capture.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for {
		b, err := f.Next(t.Context())
		if err != nil {
			break
		}
		b.Release()
	}
	info := f.Info()
	if fault := info.Truncated(); fault != nil {
		t.Errorf("%s: %v", name, fault)
	}
	return info.Counters.Packets
}

// TestCaptureRecords: rotation keeps what it should, every frame is recorded
// once, and a full disk ends the recording but not the analysis.
func TestCaptureRecords(t *testing.T) {
	n := livetest.Alone(t)
	if n == nil {
		return
	}
	t.Run("rotation", func(t *testing.T) {
		dir := openDir(t)
		w := watch(t, "--no-screen", "-f", "udp port 9", "-w", filepath.Join(dir, "t.pcapng"), "--rotate-size", "100KiB", "--format", "json")
		sent := n.Flood(2000, 400)
		w.end() // what was sent belongs to the capture
		files, _ := filepath.Glob(filepath.Join(dir, "t_*.pcapng"))
		total := uint64(0)
		for _, f := range files {
			total += countFrames(t, f)
			if st, err := os.Stat(f); err != nil || st.Size() > 110<<10 {
				t.Errorf("%s: %v, %d bytes", f, err, st.Size())
			}
		}
		if len(files) < 5 || total != uint64(sent) {
			t.Errorf("%d files with %d frames of %d sent\n%s", len(files), total, sent, w.log())
		}
		w = watch(t, "--no-screen", "-f", "udp port 9", "-w", filepath.Join(dir, "t.pcapng"), "--rotate-size", "100KiB", "--keep", "3")
		n.Flood(1000, 400)
		w.end()
		if files, _ = filepath.Glob(filepath.Join(dir, "t_*.pcapng")); len(files) != 3 {
			t.Errorf("kept: %v", files)
		}
	})
	t.Run("full disk", func(t *testing.T) {
		dir := openDir(t)
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k,mode=777"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
		file, events := filepath.Join(dir, "full.pcapng"), filepath.Join(dir, "events.ndjson")
		w := watch(t, "--no-screen", "-w", file, "--format", "text", "--format", "ndjson", "-o", events)
		n.Flood(2000, 400)
		w.said("no space left on device")
		_ = os.WriteFile(filepath.Join(dir, "rest"), make([]byte, 256<<10), 0o600) // what the torn block had
		refusals(t, 5)                                                             // the analysis goes on
		w.said(" D1: ")
		w.said(events + ": no space left on device; the analysis goes on")
		if code, _ := w.end(); code != 130 || !strings.Contains(w.stdout.String(), "connection-refused") {
			t.Errorf("exit code %d, report:\n%s", code, w.stdout.String())
		}
		if got := countFrames(t, file); got == 0 { // whole blocks only, or countFrames tells
			t.Error("nothing was recorded before the disk was full")
		}
		if strings.Count(w.log(), file) != 1 {
			t.Errorf("said more than once:\n%s", w.log())
		}
	})
}

// TestInterfaces lists what can be captured.
func TestInterfaces(t *testing.T) {
	n := livetest.Alone(t)
	if n == nil {
		return
	}
	n.IP("link add nwdown type veth peer name nwpeer")
	out, err := netwhyCommand(t, "interfaces").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{
		`(?m)^nw0 +up +EN10MB +10\.77\.0\.1/24$`, `(?m)^nwdown +down +-$`, `(?m)^any +up +LINUX_SLL2 `, `(?m)^lo +up +EN10MB +127\.0\.0\.1/8`,
	} {
		if !regexp.MustCompile(want).Match(out) {
			t.Errorf("no line %s in\n%s", want, out)
		}
	}
}

// TestWithoutLibpcap: where it cannot be loaded, files are read, and what needs it
// says what to install.
func TestWithoutLibpcap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"libpcap.so.0.8", "libpcap.so.1", "libpcap.so"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"replay", capturePath("slow-server.pcap")}, 0, "slow-server-application"},
		{[]string{"replay", capturePath("slow-server.pcap"), "-f", "tcp"}, 2, "libpcap, which compiles filters, cannot be loaded"},
		{[]string{"capture", "-i", "lo"}, 1, "libpcap, which reads interfaces, cannot be loaded"},
		{[]string{"interfaces"}, 1, "list interfaces: libpcap cannot be loaded"},
	} {
		cmd := netwhyCommand(t, tt.args...)
		cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+dir)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != tt.code || !strings.Contains(string(out), tt.want) || tt.code > 0 && !strings.Contains(string(out), "install it (Debian") {
			t.Errorf("%v: %v, want code %d and %q:\n%s", tt.args, err, tt.code, tt.want, out)
		}
	}
}

// TestCaptureWrongUsage is what a user reads who mistypes.
func TestCaptureWrongUsage(t *testing.T) {
	n := livetest.Alone(t)
	if n == nil {
		return
	}
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"capture"}, 2, "capture needs an interface"},
		{[]string{"capture", "-i", "nw00"}, 1, `did you mean "nw0"`},
		{[]string{"capture", "-i", "nw0", "--keep", "3"}, 2, "--keep needs a recording"},
		{[]string{"capture", "-i", "nw0", "-f", "tcpp"}, 2, "filter \"tcpp\""},
		{[]string{"capture", "-i", "nw0", "-w", "/no/such/folder/x.pcapng"}, 1, "make the folder first"},
		{[]string{"capture", "-i", "nw0", "--metrics", "9469"}, 1, "name an address such as :9469"},
		{[]string{"capture", "-i", "nw0", "--monitor"}, 1, "no monitor mode"},
		{[]string{"capture", "-i", "nw0", "--time-stamp-type", "adapter"}, 1, "leave --time-stamp-type away"},
	} {
		out, err := netwhyCommand(t, tt.args...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != tt.code || !strings.Contains(string(out), tt.want) {
			t.Errorf("%v: %v, want code %d and %q:\n%s", tt.args, err, tt.code, tt.want, out)
		}
	}
}
