//go:build linux && cgo

package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"netwhy/capture/livetest"
)

const nobody = "65534"

// copied is this program where every user can run it.
func copied(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	path := filepath.Join(openDir(t), "netwhy")
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	return path
}

// powerless wants every thread of a process without any capability, for good.
func powerless(t *testing.T, pid int, uid string, fields map[string]string) {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(tasks) < 2 {
		t.Fatalf("%d threads: %v", len(tasks), err)
	}
	const none = "0000000000000000"
	want := map[string]string{
		"Uid": strings.Repeat(uid+"\t", 3) + uid, "NoNewPrivs": "1", "CapEff": none, "CapPrm": none, "CapInh": none, "CapAmb": none,
	}
	maps.Copy(want, fields)
	for _, task := range tasks {
		status, err := os.ReadFile(task)
		if err != nil {
			continue // the thread has ended
		}
		for field, v := range want {
			if m := regexp.MustCompile(`(?m)^` + field + `:\t(.*)$`).FindSubmatch(status); m == nil || string(m[1]) != v {
				t.Errorf("%s: %s is %q, want %q", task, field, m, v)
			}
		}
	}
}

// TestCaptureWithoutRoot: the ways that README names for users who are not root,
// and what they read without them.
func TestCaptureWithoutRoot(t *testing.T) {
	n := livetest.Alone(t)
	if n == nil {
		return
	}
	if _, err := exec.LookPath("setpriv"); err != nil {
		t.Skip("setpriv (util-linux) is not installed")
	}
	bin := copied(t)
	asNobody := func(t *testing.T, options []string, args ...string) *exec.Cmd {
		t.Helper()
		cmd := netwhyCommand(t, args...)
		cmd.Path = bin
		if len(options) == 0 {
			options = []string{"--reset-env"}
		}
		setpriv, _ := exec.LookPath("setpriv")
		home := openDir(t)
		cmd.Args = append(append([]string{"setpriv", "--reuid", nobody, "--regid", nobody, "--clear-groups"}, options...), append([]string{bin}, args...)...)
		cmd.Path = setpriv
		cmd.Env = append(cmd.Env, "HOME="+home)
		return cmd
	}
	capture := captureArgs([]string{"--no-screen"})
	sees := func(t *testing.T, cmd *exec.Cmd) {
		t.Helper()
		w := watchBy(t, cmd)
		refusals(t, 2)
		w.said(" D1: ")
		powerless(t, cmd.Process.Pid, nobody, nil)
		if code, _ := w.end(); code != 130 {
			t.Errorf("exit code %d", code)
		}
	}
	t.Run("no right at all", func(t *testing.T) {
		out, err := asNobody(t, []string{"--bounding-set=-all"}, capture...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "no permission to open the interface; run with sudo, or once: sudo setcap cap_net_raw+ep "+bin) {
			t.Errorf("%v: %s", err, out)
		}
	})
	t.Run("as systemd does it", func(t *testing.T) {
		sees(t, asNobody(t, []string{"--inh-caps=-all,+net_raw", "--ambient-caps=-all,+net_raw", "--bounding-set=-all,+net_raw", "--no-new-privs"}, capture...))
	})
	t.Run("a configuration that may not be read", func(t *testing.T) {
		root := t.TempDir()
		conf := filepath.Join(root, ".config", "netwhy", "config.yaml")
		if err := os.MkdirAll(filepath.Dir(conf), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(conf, []byte("report: {lang: zh}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(root, 0o700); err != nil {
			t.Fatal(err)
		}
		ways := []string{"--inh-caps=-all,+net_raw", "--ambient-caps=-all,+net_raw", "--bounding-set=-all,+net_raw"}
		cmd := asNobody(t, ways, append(capture, "--log-level", "info")...)
		cmd.Env = append(cmd.Env, "HOME="+root)
		w := watchBy(t, cmd)
		if code, _ := w.end(); code != 130 || strings.Count(w.log(), "level=WARN") != 1 || !strings.Contains(w.log(), conf+": permission denied") {
			t.Errorf("exit code %d, said:\n%s", code, w.log())
		}
		out, err := asNobody(t, ways, append(capture, "--config", conf)...).CombinedOutput()
		if err == nil || !strings.HasPrefix(string(out), "netwhy: "+conf+": permission denied") {
			t.Errorf("one that was named: %v: %s", err, out)
		}
	})
	t.Run("setcap", func(t *testing.T) {
		setcap, err := exec.LookPath("setcap")
		if err != nil {
			t.Skip("setcap (libcap2-bin) is not installed")
		}
		if out, err := exec.CommandContext(t.Context(), setcap, "cap_net_raw+ep", bin).CombinedOutput(); err != nil {
			t.Skipf("this file system has no capabilities: %v: %s", err, out)
		}
		sees(t, asNobody(t, nil, capture...))
	})
}

// TestUnitOfTheReadme: systemd takes the unit as it stands there.
func TestUnitOfTheReadme(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?s)\n    \[Unit\]\n.*?WantedBy=[a-z.-]+\n`).Find(text)
	if m == nil {
		t.Fatal("no unit in README")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	unit := strings.ReplaceAll(strings.ReplaceAll(string(m), "\n    ", "\n"), "/usr/local/bin/netwhy", self)
	path := filepath.Join(t.TempDir(), "netwhy.service")
	if err := os.WriteFile(path, []byte(unit), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", path).CombinedOutput()
	if strings.Contains(string(out), "netwhy.service") || err != nil && strings.Contains(string(out), self) {
		t.Errorf("%v:\n%s", err, out)
	}
}
