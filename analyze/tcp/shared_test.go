package tcp_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"netwhy/analyze/decode"
	"netwhy/analyze/flow"
	"netwhy/analyze/tcp"
	"netwhy/capture"
	"netwhy/capture/packet"
)

// shared returns a folder of the captures that are kept beside the repository.
func shared(tb testing.TB, folder string) string {
	tb.Helper()
	root := os.Getenv("NETWHY_SHARED")
	if root == "" {
		dir, err := os.Getwd()
		if err != nil {
			tb.Fatal(err)
		}
		for ; root == "" && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if at := filepath.Join(dir, "shared"); isDir(at) {
				root = at
			}
		}
	}
	at := filepath.Join(root, folder)
	if root == "" || !isDir(at) {
		if os.Getenv("CI") == "true" {
			tb.Fatalf("no captures %q: set NETWHY_SHARED to the folder that has them", folder)
		}
		tb.Skipf("no captures %q here; set NETWHY_SHARED to the folder that has them", folder)
	}
	return at
}

func isDir(name string) bool {
	st, err := os.Stat(name)
	return err == nil && st.IsDir()
}

// follower is a lane of one: it finds the connection of each segment of a
// capture and gives it to a Tracker.
type follower struct {
	t     *tcp.Tracker
	conns map[flow.Key]*follow
	def   decode.Defragmenter
	count int // connections begun
	// each is told of every segment.
	each func(c *follow, s *tcp.Segment, v *tcp.View, m tcp.Marks)
}

type follow struct {
	ref     tcp.Ref
	number  int
	clientA bool
}

func newFollower(h tcp.Handler, l tcp.Limits) *follower {
	return &follower{t: tcp.NewTracker(l, h), conns: map[flow.Key]*follow{}}
}

func (f *follower) file(tb testing.TB, name string) {
	tb.Helper()
	src, err := capture.Open(context.Background(), []string{name}, capture.Options{})
	if err != nil {
		return // what is no capture has no connections
	}
	defer src.Close()
	for {
		b, err := src.Next(context.Background())
		if err != nil {
			if !errors.Is(err, io.EOF) {
				tb.Log(name, err)
			}
			return
		}
		for i := range b.Frames {
			f.frame(&b.Frames[i], b.Data(&b.Frames[i]))
		}
		b.Release()
	}
}

func (f *follower) frame(fr *packet.Frame, data []byte) {
	var p decode.Packet
	decode.Decode(fr.Link, data, fr.WireLen, &p)
	if p.Kind == decode.KindFragment {
		w, ok := f.def.Add(fr.Number, fr.Time, data, &p)
		if !ok {
			return
		}
		data = w.Data
	}
	if p.Kind != decode.KindTCP {
		return
	}
	s := tcp.Segment{
		Frame: fr.Number, Time: fr.Time, Seq: p.Seq, Ack: p.Ack, Flags: p.Flags, Window: p.Window,
		Len: p.PayloadLen, Data: p.Data(data), Options: p.Options(data), TTL: p.TTL, IPID: p.IPID,
		IPv6: p.IPVersion == 6, WireLen: fr.WireLen,
		Header: header(&p, data),
	}
	c := f.conns[p.Key]
	if c == nil {
		c = f.open(&p, f.t.Open)
	}
	s.Dir = dirOf(c, &p)
	if f.t.Reused(c.ref, &s) {
		f.t.Close(c.ref, 0)
		c = f.open(&p, f.t.Reopen)
		s.Dir = dirOf(c, &p)
	}
	var v tcp.View
	m := f.t.Segment(c.ref, &s, &v)
	if f.each != nil {
		f.each(c, &s, &v, m)
	}
}

func header(p *decode.Packet, data []byte) tcp.Header {
	if p.BadHeader && int(p.HdrLen) >= 20 {
		return tcp.HeaderLong
	}
	captured := min(int(p.End), len(data)) - int(p.L4)
	return tcp.HeaderOf(int(p.HdrLen), captured, int(p.HdrLen)+int(p.PayloadLen))
}

func (f *follower) open(p *decode.Packet, open func(uint32) tcp.Ref) *follow {
	f.count++
	c := &follow{ref: open(uint32(f.count)), number: f.count, clientA: p.SrcIsA}
	if p.Flags&(tcp.FlagSYN|tcp.FlagACK) == tcp.FlagSYN|tcp.FlagACK {
		c.clientA = !p.SrcIsA
	}
	f.conns[p.Key] = c
	return c
}

func dirOf(c *follow, p *decode.Packet) flow.Dir {
	if p.SrcIsA == c.clientA {
		return flow.ToServer
	}
	return flow.ToClient
}

func (f *follower) close() {
	for k, c := range f.conns {
		f.t.Close(c.ref, 0)
		delete(f.conns, k)
	}
}

// nobody reads nothing.
type nobody struct{}

func (nobody) Deliver(uint32, *tcp.Segment, []byte) {}
func (nobody) Gap(uint32, *tcp.Segment, uint32)     {}
