package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"netwhy/cmd/netwhy/internal/config"
)

// netwhyCommand is this test binary as the program: testscript's TestMain runs
// main when it is called by the program's name.
func netwhyCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return commandAs(t, "netwhy", args...)
}

func commandAs(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), link, args...)
	settings := func(v string) bool { return strings.HasPrefix(v, config.Prefix) } // also of tests: NETWHY_SHARED is no setting, and told so
	cmd.Env = append(slices.DeleteFunc(os.Environ(), settings), "HOME="+t.TempDir(), "XDG_CONFIG_HOME=", "LANG=C", "LC_ALL=C")
	if os.Getenv("GORACE") == "" {
		cmd.Env = append(cmd.Env, "GORACE=atexit_sleep_ms=0") // a second for each process otherwise
	}
	return cmd
}

// TestFaultIsReported: a panic in the analysis costs the run, not the report.
func TestFaultIsReported(t *testing.T) {
	t.Parallel()
	cmd := commandAs(t, faulty, "replay", capturePath("slow-server.pcap"), "--format", "json")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("exit: %v", err)
	}
	if said := stderr.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, "a wheel came off (script_test.go:") {
		t.Errorf("standard error: %s", said)
	}
	if !strings.Contains(stdout.String(), `"schema": "netwhy.report/1"`) {
		t.Errorf("no report:\n%s", stdout.String())
	}
}

func capturePath(name string) string { return filepath.Join("..", "..", "fixtures", "captures", name) }

// TestInterruptedReplayReports: Ctrl-C while standard input is still open gives
// the report so far and exit code 130.
func TestInterruptedReplayReports(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no interrupt can be sent to a process here")
	}
	data, err := os.ReadFile(capturePath("connection-refused.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := netwhyCommand(t, "replay", "-", "--log-level", "info")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stdin.Write(data); err != nil {
		t.Fatal(err)
	}
	log := bufio.NewReader(stderr)
	line, err := log.ReadString('\n') // it reads: the signal is handled from here on
	if err != nil || !strings.Contains(line, "reading begins") {
		t.Fatalf("standard error: %q, %v", line, err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(log)
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Errorf("exit: %v, want 130; standard error: %s", err, rest)
	}
	if !strings.HasPrefix(stdout.String(), "Interrupted: this is what was found so far.") {
		t.Errorf("report:\n%s", stdout.String())
	}
}

// TestOfflineOpensNoSocket: not one system call of the network family, and no key
// is read, even with keys in the environment and a configuration that asks the
// cloud.
func TestOfflineOpensNoSocket(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("strace is not installed; .ci/setup ci installs it")
		}
		t.Skip("strace is not installed")
	}
	dir := t.TempDir()
	trace, config, key := filepath.Join(dir, "trace"), filepath.Join(dir, "ai.yaml"), filepath.Join(dir, "key")
	text := "ai:\n  providers:\n    - {name: mine, model: m, endpoints: [https://ai.example/v1], api_key_file: " + key + "}\n"
	for path, data := range map[string]string{config: text, key: "sk-test"} {
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := netwhyCommand(t, "replay", capturePath("slow-server.pcap"), "--diagnose", "--offline", "--config", config)
	cmd.Args = append([]string{"strace", "-f", "-qq", "-e", "trace=%network,%file", "-o", trace, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = strace
	cmd.Env = append(cmd.Env, "OPENAI_API_KEY=sk-test", "DEEPSEEK_API_KEY=sk-test", "ANTHROPIC_API_KEY=sk-test", "NETWHY_DIAGNOSE=true")
	out, err := cmd.CombinedOutput()
	if err != nil {
		if strings.Contains(string(out), "PTRACE") || strings.Contains(string(out), "ptrace") {
			t.Skipf("strace may not trace here: %s", out)
		}
		t.Fatalf("%v\n%s", err, out)
	}
	if !bytes.Contains(out, []byte("slow-server-application")) {
		t.Errorf("no verdict:\n%s", out)
	}
	calls, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	if found := regexp.MustCompile(`(?m)^.*\b(socket|connect|sendto|bind)\(.*$`).Find(calls); found != nil {
		t.Errorf("a system call of the network: %s", found)
	}
	if !bytes.Contains(calls, []byte(`"`+config+`"`)) || bytes.Contains(calls, []byte(`"`+key+`"`)) {
		t.Errorf("the configuration was not read, or the key was:\n%s", calls)
	}
}

// built makes the program as users have it, but for the profile: this test binary may carry the race
// detector, with which figures of speed and memory mean nothing.
func built(t *testing.T, env ...string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "netwhy")
	build := exec.CommandContext(t.Context(), "go", "build", "-pgo=off", "-o", bin, ".")
	build.Env = append(os.Environ(), env...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// TestWithoutCgo: a build without libpcap reads files, and says what it lacks.
func TestWithoutCgo(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the program")
	}
	bin := built(t, "CGO_ENABLED=0")
	out, err := exec.CommandContext(t.Context(), bin, "replay", capturePath("slow-server.pcap")).CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("slow-server-application")) {
		t.Errorf("replay: %v\n%s", err, out)
	}
	out, err = exec.CommandContext(t.Context(), bin, "replay", capturePath("slow-server.pcap"), "-f", "tcp").CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("without libpcap")) {
		t.Errorf("filter: %v\n%s", err, out)
	}
}
