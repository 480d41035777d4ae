//go:build linux

// Package livetest gives tests a network of their own: the test runs again in
// a process with a new network namespace, joined by a veth pair to a second one
// that plays the other host. Nothing of the machine's own network is seen or
// touched, and all of it is gone when the process ends.
package livetest

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Names and addresses of the two ends.
const (
	Here     = "nw0" // the interface on this side
	There    = "nw1" // the one in the other namespace
	HereIP   = "10.77.0.1"
	ThereIP  = "10.77.0.2"
	bits     = "/24"
	inside   = "LIVETEST_INSIDE"
	inCI     = "CI"
	unshared = syscall.CLONE_NEWNET
)

// Net is the network of a test.
type Net struct {
	t    *testing.T
	peer *exec.Cmd // keeps the other namespace alive
	pid  string
}

// Alone runs the calling test again in a namespace of its own. In the new
// process it returns the network; in the old one it reports the result and
// returns nil, and the test has to return too. Without root the test is skipped,
// or fails where CI says that it has to run.
func Alone(t *testing.T) *Net {
	t.Helper()
	if os.Getenv(inside) != "" {
		return begin(t)
	}
	if _, err := exec.LookPath("ip"); err != nil {
		refuse(t, "iproute2 is not installed")
	}
	cmd := again(t)
	out, err := cmd.CombinedOutput()
	if os.IsPermission(err) {
		refuse(t, "no permission to make a network namespace: "+err.Error())
	}
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "=== ") && line != "PASS" {
			t.Log(line)
		}
	}
	if err != nil {
		t.Fatalf("in its own network: %v", err)
	}
	return nil
}

// again is this test in a process of its own, as root: with sudo where CI is not
// root but may become it.
func again(t *testing.T) *exec.Cmd {
	t.Helper()
	args := []string{"-test.run=^" + t.Name() + "$", "-test.v", "-test.timeout=10m"}
	root := os.Geteuid() == 0
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...) //nolint:gosec // this binary
	switch {
	case root:
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unshared, Pdeathsig: syscall.SIGKILL}
	case os.Getenv(inCI) == "true" && exec.CommandContext(t.Context(), "sudo", "-n", "true").Run() == nil:
		self, err := filepath.Abs(os.Args[0])
		if err != nil {
			t.Fatal(err)
		}
		cmd = exec.CommandContext(t.Context(), "sudo", append([]string{"-n", "-E", inside + "=1", "unshare", "-n", self}, args...)...) //nolint:gosec // the same
	default:
		refuse(t, "network namespaces need root")
	}
	cmd.Env = append(os.Environ(), inside+"=1")
	if os.Getenv("GORACE") == "" {
		cmd.Env = append(cmd.Env, "GORACE=atexit_sleep_ms=0") // a second for each process otherwise
	}
	return cmd
}

func refuse(t *testing.T, why string) {
	t.Helper()
	if os.Getenv(inCI) == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}

func begin(t *testing.T) *Net {
	t.Helper()
	n := &Net{t: t}
	n.peer = exec.Command("sleep", "3600") //nolint:noctx // ended by Cleanup
	n.peer.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unshared, Pdeathsig: syscall.SIGKILL}
	if err := n.peer.Start(); err != nil {
		t.Fatal(err)
	}
	n.pid = strconv.Itoa(n.peer.Process.Pid)
	t.Cleanup(func() {
		_ = n.peer.Process.Kill()
		_ = n.peer.Wait()
	})
	n.IP("link set lo up")
	n.ThereIP("link set lo up")
	n.Plug()
	return n
}

// Plug joins the two namespaces, at the begin and after Unplug.
func (n *Net) Plug() {
	n.t.Helper()
	n.IP("link add " + Here + " type veth peer name " + There)
	n.IP("link set " + There + " netns " + n.pid)
	n.IP("addr add " + HereIP + bits + " dev " + Here)
	n.IP("link set " + Here + " addrgenmode none up")
	n.ThereIP("addr add " + ThereIP + bits + " dev " + There)
	n.ThereIP("link set " + There + " addrgenmode none up")
}

// Unplug removes both ends of the veth pair.
func (n *Net) Unplug() {
	n.t.Helper()
	n.IP("link del " + Here)
}

// IP runs the ip command on this side.
func (n *Net) IP(args string) { n.t.Helper(); n.Run("ip", strings.Fields(args)...) }

// ThereIP runs the ip command on the other side.
func (n *Net) ThereIP(args string) { n.t.Helper(); n.RunThere("ip", strings.Fields(args)...) }

// Run runs a command on this side to its end.
func (n *Net) Run(name string, args ...string) string {
	n.t.Helper()
	out, err := exec.CommandContext(n.t.Context(), name, args...).CombinedOutput() //nolint:gosec // a test's own words
	if err != nil {
		n.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// RunThere runs a command on the other side to its end.
func (n *Net) RunThere(name string, args ...string) string {
	n.t.Helper()
	return n.Run("nsenter", append([]string{"-t", n.pid, "-n", name}, args...)...)
}

// InThere calls f on a thread that is on the other side: sockets that it opens
// belong there.
func (n *Net) InThere(f func()) {
	n.t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		fd, err := unix.Open(filepath.Join("/proc", n.pid, "ns/net"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			err = unix.Setns(fd, unix.CLONE_NEWNET)
		}
		if err == nil {
			f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		n.t.Fatal(err)
	}
}

// ListenThere opens a TCP port on the other side.
func (n *Net) ListenThere(port string) net.Listener {
	n.t.Helper()
	var l net.Listener
	var err error
	n.InThere(func() { l, err = net.Listen("tcp", net.JoinHostPort(ThereIP, port)) }) //nolint:noctx // a test's
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = l.Close() })
	return l
}

// Flood sends count UDP datagrams of a size to the other side, as fast as can
// be, and returns how many the kernel took.
func (n *Net) Flood(count, size int) int {
	n.t.Helper()
	c, err := net.ListenPacket("udp", HereIP+":0") //nolint:noctx // a test's
	if err != nil {
		n.t.Fatal(err)
	}
	defer c.Close()
	to := net.UDPAddrFromAddrPort(netip.MustParseAddrPort(ThereIP + ":9"))
	b := make([]byte, size)
	sent := 0
	for i := range count {
		b[0], b[1], b[2] = byte(i), byte(i>>8), byte(i>>16)
		if _, err := c.WriteTo(b, to); err == nil { // a connected socket would be told that nobody listens
			sent++
		}
	}
	return sent
}

// SendThere sends a frame as it is from the other side to this one.
func (n *Net) SendThere(frame []byte) {
	n.t.Helper()
	var err error
	n.InThere(func() {
		var fd int
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
			return
		}
		defer func() { _ = unix.Close(fd) }()
		var i *net.Interface
		if i, err = net.InterfaceByName(There); err == nil {
			err = unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: i.Index})
		}
	})
	if err != nil {
		n.t.Fatal(err)
	}
}

// StartThere starts a command on the other side; it ends with the test.
func (n *Net) StartThere(name string, args ...string) *exec.Cmd {
	n.t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		refuse(n.t, name+" is not installed")
	}
	cmd := exec.Command("nsenter", append([]string{"-t", n.pid, "-n", name}, args...)...) //nolint:gosec,noctx // a test's own words, ended by Cleanup
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil { // nsenter becomes the command: its process is this one
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}
