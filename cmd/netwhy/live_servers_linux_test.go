//go:build linux && cgo

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"netwhy/capture/livetest"
)

// TestCaptureOfRealServers has a real web server that stops for two seconds in
// the middle of a request, and a real name server asked for names that are not
// there. Before the faults the same servers are healthy, and nothing is said.
func TestCaptureOfRealServers(t *testing.T) {
	n := livetest.Alone(t)
	if n == nil {
		return
	}
	dir := openDir(t)
	conf := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf(`user root; daemon off; master_process off; pid %[1]s/pid; error_log %[1]s/error.log;
events {} http { access_log off; client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
server { listen %[2]s:80; location / { return 200 "hello"; } } }`, dir, livetest.ThereIP)
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	nginx := n.StartThere("nginx", "-c", conf)
	n.StartThere("dnsmasq", "--no-daemon", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--user=root", "--listen-address="+livetest.ThereIP,
		"--bind-interfaces", "--address=/ok.test/10.77.0.2", "--local=/test/", "--log-facility=/dev/null")
	web := func() string {
		resp, err := get(t, "http://"+livetest.ThereIP+"/")
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return string(b)
	}
	names := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", livetest.ThereIP+":53")
	}}
	asks := func(name string) error { _, err := names.LookupNetIP(t.Context(), "ip4", name); return err }
	if !within(func() bool { return web() == "hello" && asks("ok.test.") == nil }) {
		log, _ := os.ReadFile(filepath.Join(dir, "error.log"))
		t.Fatalf("the servers do not answer: %s, %v\n%s", web(), asks("ok.test."), log)
	}

	w := watch(t, "--no-screen", "--lang", "en")
	for range 20 {
		_, _ = web(), asks("ok.test.")
	}
	time.Sleep(2500 * time.Millisecond) // two moments
	// On a machine that has no time for them they are slow indeed.
	if log := w.log(); strings.Contains(log, " D1: ") && !strings.Contains(log, " took ") {
		t.Errorf("healthy servers, and yet:\n%s", log)
	}
	if err := nginx.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	resume := time.AfterFunc(2*time.Second, func() { _ = nginx.Process.Signal(syscall.SIGCONT) })
	defer resume.Stop()
	if got := web(); got != "hello" {
		t.Fatal(got)
	}
	w.said(" took 2.")
	for i := range 60 {
		_ = asks(fmt.Sprintf("nothing-%d.test.", i))
	}
	if code, _ := w.end(); code != 130 {
		t.Errorf("exit code %d", code)
	}
	report := w.stdout.String()
	for _, want := range []string{"http-slow-response", "dns-nxdomain-burst"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %s:\n%s", want, report)
		}
	}
	t.Logf("said while it happened:\n%s", w.log())
}
