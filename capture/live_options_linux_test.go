//go:build linux && cgo

package capture

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"netwhy/capture/livetest"
	"netwhy/capture/packet"
)

// TestLiveOptions: what the user chooses reaches the kernel.
func TestLiveOptions(t *testing.T) {
	n := livetest.Alone(t)
	if n == nil {
		return
	}
	promiscuous := func() bool {
		return strings.Contains(n.Run("ip", "-d", "link", "show", livetest.Here), "promiscuity 1")
	}
	for _, off := range []bool{false, true} {
		l := openLive(t, LiveOptions{Interfaces: []string{livetest.Here}, Filter: "udp port 9", NoPromisc: off, SnapLen: 64})
		if promiscuous() == off {
			t.Errorf("--no-promisc %v: promiscuous %v", off, promiscuous())
		}
		wait := collect(t, l, true)
		n.Flood(3, 500)
		l.Stop()
		got := wait()
		if len(got.frames) != 3 {
			t.Fatalf("%d frames", len(got.frames))
		}
		for i := range got.frames {
			if f := &got.frames[i]; f.CapLen != 64 || f.WireLen != 14+20+8+500 {
				t.Errorf("%d bytes of %d are kept", f.CapLen, f.WireLen)
			}
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if promiscuous() {
		t.Error("it stays promiscuous")
	}
	for what, opt := range map[string]LiveOptions{
		`no time stamps of the type "adapter_unsynced"; it has host`: {Clock: "adapter_unsynced"},
		`no time stamps of the type "sundial"; it has host`:          {Clock: "sundial"},
		"no monitor mode; only Wi-Fi interfaces":                     {Monitor: true},
	} {
		opt.Interfaces = []string{livetest.Here}
		_, err := OpenLive(t.Context(), opt)
		var open *OpenError
		if !errors.As(err, &open) || !strings.Contains(err.Error(), what) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v", opt, err)
		}
	}
	openLive(t, LiveOptions{Interfaces: []string{livetest.Here}, Clock: "host"})
}

// TestLiveReadsRadiotap captures on an interface as a Wi-Fi card in monitor mode
// has it: a tap whose link type is said to be 802.11 with radiotap.
func TestLiveReadsRadiotap(t *testing.T) {
	n := livetest.Alone(t)
	if n == nil {
		return
	}
	const name, radiotap = "nwmon0", 803 // ARPHRD_IEEE80211_RADIOTAP
	tap, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no tap can be made: %v", err)
	}
	defer tap.Close()
	req, err := unix.NewIfreq(name)
	if err != nil {
		t.Fatal(err)
	}
	req.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(int(tap.Fd()), unix.TUNSETIFF, req); err != nil {
		t.Skipf("no tap can be made: %v", err)
	}
	if err := unix.IoctlSetInt(int(tap.Fd()), unix.TUNSETLINK, radiotap); err != nil {
		t.Skipf("the tap's link type cannot be set: %v", err)
	}
	n.IP("link set " + name + " addrgenmode none up")
	l := openLive(t, LiveOptions{Interfaces: []string{name}, Filter: "type mgt subtype beacon"})
	wait := collect(t, l, true)
	beacon := append([]byte{
		0, 0, 8, 0, 0, 0, 0, 0, // radiotap, nothing told
		0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x10, 0,
	}, make([]byte, 24)...)
	if _, err := tap.Write(beacon); err != nil {
		t.Skipf("the tap takes no frames of this link type: %v", err)
	}
	settle(t, "a beacon", func() bool { return l.Progress().Packets == 1 })
	l.Stop()
	if got := wait(); got.frames[0].Link != packet.LinkRadiotap || string(got.bytes[0]) != string(beacon) {
		t.Errorf("link type %d, % x", got.frames[0].Link, got.bytes[0])
	}
}

// TestLiveTellsClockJumps: a clock that was set, or a machine that slept, marks
// the next batch: no wait that spans it is believed.
func TestLiveTellsClockJumps(t *testing.T) {
	n := livetest.Alone(t)
	if n == nil {
		return
	}
	for _, jump := range []time.Duration{0, time.Hour, -time.Hour} {
		l := openLive(t, LiveOptions{Interfaces: []string{livetest.Here}, Filter: "udp port 9", MaxPackets: 1})
		l.clock.wall += int64(jump) // of the look before the first one
		n.Flood(1, 100)
		broken := false
		for {
			b, err := l.Next(t.Context())
			if err != nil {
				break
			}
			broken = broken || b.Break
			b.Release()
		}
		if broken != (jump != 0) {
			t.Errorf("the clock went %v: break %v", jump, broken)
		}
	}
}

// TestLivePanicIsAnError: a fault in what records ends the run with an error.
func TestLivePanicIsAnError(t *testing.T) {
	n := livetest.Alone(t)
	if n == nil {
		return
	}
	l := openLive(t, LiveOptions{Interfaces: []string{livetest.Here}, Filter: "udp port 9", Tap: func(*packet.Batch) { panic("no disk") }})
	n.Flood(10, 100)
	var err error
	for err == nil {
		var b *packet.Batch
		if b, err = l.Next(t.Context()); err == nil {
			b.Release()
		}
	}
	var fault *packet.PanicError
	if !errors.As(err, &fault) || fault.Where != "the recording" {
		t.Errorf("got %v", err)
	}
}

// TestLiveClosedUnread: what was opened and never read, or only in part, closes at
// once, and twice; nothing of it reaches the recording.
func TestLiveClosedUnread(t *testing.T) {
	n := livetest.Alone(t)
	if n == nil {
		return
	}
	tap := func(b *packet.Batch) { t.Errorf("%d frames were recorded", len(b.Frames)) }
	l := openLive(t, LiveOptions{Interfaces: []string{livetest.Here}, Filter: "udp port 9", Tap: tap})
	n.Flood(10, 100)
	for range 2 {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if l.fault.Load() != nil {
		t.Error(*l.fault.Load())
	}
	if _, err := OpenLive(t.Context(), LiveOptions{Interfaces: []string{livetest.Here, "nosuch0"}, Tap: tap}); !errors.Is(err, ErrNoInterface) {
		t.Error(err)
	}
}
