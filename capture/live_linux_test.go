//go:build linux && cgo

package capture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"netwhy/capture/livetest"
	"netwhy/capture/packet"
)

// collected is what a test's capture gave.
type collected struct {
	frames []packet.Frame
	bytes  [][]byte
	last   packet.Counters
	err    error
}

// collect reads a source to its end in the background; the function returned
// waits for it.
func collect(t *testing.T, l *Live, keep bool) func() *collected {
	t.Helper()
	c := &collected{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			b, err := l.Next(context.Background())
			if err != nil {
				if !errors.Is(err, io.EOF) {
					c.err = err
				}
				return
			}
			for i := range b.Frames {
				if keep {
					c.frames = append(c.frames, b.Frames[i])
					c.bytes = append(c.bytes, bytes.Clone(b.Data(&b.Frames[i])))
				}
			}
			c.last = b.Counters
			b.Release()
		}
	}()
	return func() *collected { t.Helper(); <-done; return c }
}

func openLive(t *testing.T, opt LiveOptions) *Live {
	t.Helper()
	l, err := OpenLive(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// settle waits until a condition holds, on a machine however busy.
func settle(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 6000 {
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("after a minute not yet: %s", what)
}

// TestLiveSeesWhatTcpdumpSees runs real HTTP over a veth pair and compares each
// frame, with its time, with a tcpdump at its side. The two sockets get frames
// that two processors handle at once in an order of their own.
func TestLiveSeesWhatTcpdumpSees(t *testing.T) {
	n := livetest.Alone(t)
	if n == nil {
		return
	}
	n.ThereIP("link set " + livetest.There + " gso_max_segs 1")
	file := filepath.Join(t.TempDir(), "beside.pcap")
	dump := exec.CommandContext(t.Context(), "tcpdump", "-i", livetest.Here, "-w", file, "-U", "--nano", "--immediate-mode", "-B", "65536", "-Z", "root", "tcp or udp port 9")
	var said bytes.Buffer
	dump.Stderr = &said
	if err := dump.Start(); err != nil {
		t.Fatal(err)
	}
	settle(t, "tcpdump listens", func() bool { st, err := os.Stat(file); return err == nil && st.Size() > 0 })
	l := openLive(t, LiveOptions{Interfaces: []string{livetest.Here}, Filter: "tcp or udp port 9"})
	wait := collect(t, l, true)

	listener := n.ListenThere("80")
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(bytes.Repeat([]byte("netwhy "), 20_000))
	})}
	go func() { _ = server.Serve(listener) }()
	for range 40 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+livetest.ThereIP+"/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
	_ = server.Close()
	beside := func() (frames []packet.Frame, bytes_ [][]byte) {
		f, err := Open(t.Context(), []string{file}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for {
			b, err := f.Next(t.Context())
			if err != nil {
				return frames, bytes_
			}
			for i := range b.Frames {
				frames, bytes_ = append(frames, b.Frames[i]), append(bytes_, bytes.Clone(b.Data(&b.Frames[i])))
			}
			b.Release()
		}
	}
	// Nothing else is sent by now; a last frame shows that both have all before it.
	const marker = 77
	n.Flood(1, marker)
	ends := func(data []byte) bool { return len(data) == 14+20+8+marker }
	settle(t, "tcpdump has the last frame", func() bool { _, all := beside(); return len(all) > 0 && ends(all[len(all)-1]) })
	l.Stop()
	got := wait()
	_ = dump.Process.Signal(syscall.SIGINT)
	if err := dump.Wait(); err != nil {
		t.Fatalf("tcpdump: %v: %s", err, said.String())
	}
	frames, all := beside()
	if len(frames) != len(got.frames) || len(frames) < 100 || !ends(got.bytes[len(got.bytes)-1]) {
		t.Fatalf("netwhy saw %d frames, tcpdump %d", len(got.frames), len(frames))
	}
	times := map[string][]int64{}
	for i, b := range got.bytes {
		times[string(b)] = append(times[string(b)], got.frames[i].Time)
	}
	furthest := time.Duration(0)
	for i := range frames {
		of := times[string(all[i])]
		if len(of) == 0 {
			t.Fatalf("frame %d of tcpdump's, %d bytes, was not seen", i+1, frames[i].CapLen)
		}
		furthest = max(furthest, time.Duration(of[0]-frames[i].Time).Abs())
		times[string(all[i])] = of[1:]
	}
	if furthest > time.Second { // each socket takes its own time of a frame, on a busy machine not at once
		t.Errorf("times are up to %v apart", furthest)
	}
	t.Logf("%d frames, equal in bytes, times at most %v apart", len(frames), furthest)
}

// TestLiveCountsDropsToTheFrame: a ring that is too small, and a reader that does
// not read, lose frames; each one is counted.
func TestLiveCountsDropsToTheFrame(t *testing.T) {
	n := livetest.Alone(t)
	if n == nil {
		return
	}
	t.Run("kernel", func(t *testing.T) {
		l := openLive(t, LiveOptions{Interfaces: []string{livetest.Here}, Filter: "udp port 9", Buffer: 1 << 20})
		sent := n.Flood(40_000, 400) // nobody reads yet
		wait := collect(t, l, false)
		l.Stop() // at once: what the ring holds belongs to the capture
		wait()
		c := l.Info().Counters
		if c.DroppedKernel == 0 || uint64(sent) != c.Packets+c.DroppedKernel+c.DroppedQueue {
			t.Errorf("sent %d, seen %d + kernel %d + queue %d", sent, c.Packets, c.DroppedKernel, c.DroppedQueue)
		}
		t.Logf("sent %d = seen %d + kernel %d + queue %d", sent, c.Packets, c.DroppedKernel, c.DroppedQueue)
	})
	t.Run("queue", func(t *testing.T) {
		var taped atomic.Uint64
		for _, tap := range []func(*packet.Batch){nil, func(b *packet.Batch) { taped.Add(uint64(len(b.Frames))) }} {
			l := openLive(t, LiveOptions{Interfaces: []string{livetest.Here}, Filter: "udp port 9", Batches: 3, BatchBytes: 64 << 10, Tap: tap})
			began := time.Now().Add(-heartbeat).UnixNano()
			first, err := l.Next(t.Context()) // begins to read; then the analysis stops
			if err != nil {
				t.Fatal(err)
			}
			sent := n.Flood(40_000, 400)
			settle(t, "frames were shed", func() bool { return l.Info().Counters.DroppedQueue > 0 })
			first.Release()
			wait := collect(t, l, false)
			l.Stop()
			wait()
			c := l.Info().Counters
			if uint64(sent) != c.Packets+c.DroppedKernel+c.DroppedQueue {
				t.Errorf("sent %d, seen %d + kernel %d + queue %d", sent, c.Packets, c.DroppedKernel, c.DroppedQueue)
			}
			lost := uint64(0)
			for _, x := range l.Info().Losses {
				lost += x.Frames
				if x.To < x.From || x.From < began || x.To > time.Now().UnixNano() {
					t.Errorf("%d frames were lost from %v to %v, and the run began at %v", x.Frames, x.From, x.To, began)
				}
			}
			if lost != c.DroppedKernel+c.DroppedQueue {
				t.Errorf("%d frames in %d losses, want %d", lost, len(l.Info().Losses), c.DroppedKernel+c.DroppedQueue)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if tap != nil && taped.Load()+c.DroppedKernel != uint64(sent) {
				t.Errorf("sent %d, recorded %d, lost by the kernel %d: the recording was shed", sent, taped.Load(), c.DroppedKernel)
			}
			t.Logf("tap %v: sent %d = seen %d + kernel %d + queue %d, recorded %d", tap != nil, sent, c.Packets, c.DroppedKernel, c.DroppedQueue, taped.Load())
		}
	})
}

// TestLiveOutlivesItsInterface removes the interface and plugs it in again, with
// and without the right to open it anew.
func TestLiveOutlivesItsInterface(t *testing.T) {
	n := livetest.Alone(t)
	if n == nil {
		return
	}
	for _, privileged := range []bool{true, false} {
		t.Run(fmt.Sprintf("privileged=%v", privileged), func(t *testing.T) {
			var mu sync.Mutex
			var notices []Notice
			said := func(part string) bool {
				mu.Lock()
				defer mu.Unlock()
				for _, x := range notices {
					if strings.Contains(x.Text, part) {
						return true
					}
				}
				return false
			}
			l := openLive(t, LiveOptions{
				Interfaces: []string{livetest.Here}, Filter: "udp port 9", Standby: true,
				Notify: func(x Notice) { mu.Lock(); defer mu.Unlock(); notices = append(notices, x) },
			})
			l.denied = !privileged
			wait := collect(t, l, true)
			n.Flood(10, 100)
			settle(t, "frames", func() bool { return l.Progress().Packets == 10 })
			n.Unplug()
			settle(t, "the loss is told", func() bool { return said("disappeared") })
			n.Plug()
			settle(t, "the return is told", func() bool { return said("is back") })
			n.Flood(10, 100)
			settle(t, "frames again", func() bool { return l.Progress().Packets == 20 })
			l.Stop()
			got := wait()
			info := l.Info()
			if len(got.frames) != 20 {
				t.Fatalf("%d frames of 20", len(got.frames))
			}
			last := &got.frames[19]
			if name := info.Interfaces[last.Interface].Name; name != livetest.Here || info.Interfaces[last.Interface].Link != last.Link {
				t.Errorf("the last frame is of %q with link type %d: %+v", name, last.Link, info.Interfaces)
			}
		})
	}
}

// TestLiveKeepsSeveralInterfacesInOrder captures both a veth and lo.
func TestLiveKeepsSeveralInterfacesInOrder(t *testing.T) {
	n := livetest.Alone(t)
	if n == nil {
		return
	}
	l := openLive(t, LiveOptions{Interfaces: []string{livetest.Here, "lo"}, Filter: "udp port 9"})
	wait := collect(t, l, true)
	lo, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lo.Close()
	const rounds = 200
	for range rounds {
		n.Flood(3, 200)
		_, _ = lo.WriteTo([]byte("x"), &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9})
	}
	settle(t, "all frames", func() bool { return l.Progress().Packets >= rounds*4 })
	l.Stop()
	got := wait()
	if len(got.frames) != rounds*4 {
		t.Errorf("%d frames, want %d", len(got.frames), rounds*4)
	}
	seen, older := [2]int{}, 0
	for i := range got.frames {
		seen[got.frames[i].Interface]++
		if i > 0 && got.frames[i].Time < got.frames[i-1].Time {
			older++
		}
		if got.frames[i].Number != uint64(i+1) {
			t.Errorf("frame %d has number %d", i+1, got.frames[i].Number)
		}
	}
	// A processor that was taken away from the kernel for longer than holdBack
	// makes a block late; by themselves the blocks are out of order all the time.
	if older > rounds/20 {
		t.Errorf("%d frames are older than the one before", older)
	}
	if seen != [2]int{rounds * 3, rounds} {
		t.Errorf("frames of each interface: %v", seen)
	}
}

// TestLivePutsVLANTagsBack: the kernel strips them, libpcap has them.
func TestLivePutsVLANTagsBack(t *testing.T) {
	n := livetest.Alone(t)
	if n == nil {
		return
	}
	l := openLive(t, LiveOptions{Interfaces: []string{livetest.Here}, Filter: "vlan 42"})
	wait := collect(t, l, true)
	frame := append([]byte{
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 9, 0x81, 0, 0, 42, // broadcast, VLAN 42
		0x08, 0x00, 0x45, 0, 0, 32, 0, 1, 0, 0, 64, 17, 0, 0, 10, 78, 0, 9, 10, 78, 0, 255, 0, 9, 0, 9, 0, 12, 0, 0,
	}, make([]byte, 16)...)
	n.SendThere(frame)
	settle(t, "a tagged frame", func() bool { return l.Progress().Packets > 0 })
	l.Stop()
	got := wait()
	for i, b := range got.bytes {
		if b[12] != 0x81 || b[13] != 0 || b[15] != 42 {
			t.Errorf("frame %d has no tag: % x", i+1, b[:18])
		}
	}
}

// TestAnyInterface has the cooked header with the interface's index.
func TestAnyInterface(t *testing.T) {
	n := livetest.Alone(t)
	if n == nil {
		return
	}
	l := openLive(t, LiveOptions{Interfaces: []string{AnyInterface}, Filter: "udp port 9", MaxPackets: 5})
	wait := collect(t, l, true)
	n.Flood(20, 100)
	got := wait() // ends by itself
	if len(got.frames) != 5 || got.frames[0].Link != packet.LinkLinuxSLL2 {
		t.Errorf("%d frames, the first of link type %d", len(got.frames), got.frames[0].Link)
	}
}

// TestLiveErrorsHaveARemedy looks at what a user reads.
func TestLiveErrorsHaveARemedy(t *testing.T) {
	n := livetest.Alone(t)
	if n == nil {
		return
	}
	n.IP("link set " + livetest.Here + " down")
	for name, want := range map[string][2]string{
		"nosuch0":     {"there is no such interface", "netwhy interfaces"},
		livetest.Here: {"the interface is down", "ip link set dev " + livetest.Here + " up"},
	} {
		_, err := OpenLive(t.Context(), LiveOptions{Interfaces: []string{name}})
		var open *OpenError
		if !errors.As(err, &open) || open.Reason != want[0] || !strings.Contains(open.Remedy, want[1]) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var bad *FilterError
	if _, err := OpenLive(t.Context(), LiveOptions{Interfaces: []string{"lo"}, Filter: "tcpp"}); !errors.As(err, &bad) {
		t.Errorf("a misspelt filter: %v", err)
	}
}

// TestLiveEndsAtOnce: the end of the context, and Close without any Next.
func TestLiveEndsAtOnce(t *testing.T) {
	n := livetest.Alone(t)
	if n == nil {
		return
	}
	l := openLive(t, LiveOptions{Interfaces: []string{livetest.Here}})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = openLive(t, LiveOptions{Interfaces: []string{livetest.Here}})
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := l.Next(ctx); err != nil {
		t.Fatal(err)
	}
	cancel()
	began := time.Now()
	for {
		b, err := l.Next(ctx)
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			break
		}
		b.Release()
	}
	t.Logf("ended after %v", time.Since(began))
}
