package tcp_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"netwhy/analyze/flow"
	"netwhy/analyze/tcp"
)

// text writes what it is given, to read in a test: "c:" and "s:" for the sender.
type text struct {
	strings.Builder
	last byte
}

func (x *text) who(d flow.Dir) {
	c := byte('c')
	if d == flow.ToClient {
		c = 's'
	}
	if x.last != c {
		fmt.Fprintf(x, "[%c]", c)
		x.last = c
	}
}

func (x *text) Deliver(_ uint32, s *tcp.Segment, b []byte) {
	x.who(s.Dir)
	x.Write(b)
}

func (x *text) Gap(_ uint32, s *tcp.Segment, n uint32) {
	x.who(s.Dir)
	fmt.Fprintf(x, "<%d>", n)
}

// TestRobust follows captures whose faults other tools stumbled over.
func TestRobust(t *testing.T) {
	t.Parallel()
	dir := shared(t, "corpus-robust")
	const (
		request = "GET / HTTP/1.1\r\nHost: x.example\r\n\r\n"
		answer  = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
	)
	tests := []struct {
		file, stream string
		state        tcp.State
		mid          bool
	}{
		{"syn-tcp-fin-before-data.pcap", answer, tcp.Finished, false},
		{"syn-tcp-keepalive-1byte.pcap", answer, tcp.Finished, false},
		{"syn-tcp-seq-wrap.pcap", answer, tcp.Finished, false},
		{"syn-tcp-midstream.pcap", answer, tcp.Open, true},
	}
	for _, c := range tests {
		t.Run(c.file, func(t *testing.T) {
			x := &text{}
			f := newFollower(x, tcp.Limits{})
			var last tcp.View
			f.each = func(_ *follow, _ *tcp.Segment, v *tcp.View, _ tcp.Marks) { last = *v }
			f.file(t, filepath.Join(dir, c.file))
			f.close()
			got := x.String()
			if !strings.HasSuffix(got, "[s]"+c.stream) || strings.Count(got, "[") != 2 || strings.Contains(got, "<") {
				t.Errorf("stream %q", got)
			}
			if last.State != c.state || last.MidStream != c.mid || f.count != 1 {
				t.Errorf("state %d, mid-stream %v, %d connections", last.State, last.MidStream, f.count)
			}
		})
	}
}

// step is a segment of a short story: payload, or numbers for what it is about.
type step struct {
	dir   flow.Dir
	seq   uint32
	ack   uint32
	flags uint16
	data  string
	wire  int // payload bytes on the wire, when more than data
}

const (
	up   = flow.ToServer
	down = flow.ToClient
	psh  = tcp.FlagACK | tcp.FlagPSH
	ack  = tcp.FlagACK
	fin  = tcp.FlagACK | tcp.FlagFIN
	syn  = tcp.FlagSYN
	both = tcp.FlagSYN | tcp.FlagACK
	rst  = tcp.FlagRST
)

// TestStories tells what is delivered and how a connection stands at its end.
func TestStories(t *testing.T) {
	t.Parallel()
	hello := []step{{up, 99, 0, syn, "", 0}, {down, 499, 100, both, "", 0}, {up, 100, 500, ack, "", 0}}
	with := func(s ...step) []step { return append(append([]step{}, hello...), s...) }
	tests := []struct {
		name  string
		steps []step
		want  string
		state tcp.State
	}{
		{"data on the SYN (RFC 7413)", []step{{up, 99, 0, syn, "abc", 0}, {down, 499, 103, both, "", 0}, {up, 103, 500, psh, "def", 0}}, "[c]abcdef", tcp.Open},
		{"data on the SYN, refused and sent again", []step{{up, 99, 0, syn, "abc", 0}, {down, 499, 100, both, "", 0}, {up, 100, 500, psh, "abc", 0}}, "[c]abc", tcp.Open},
		{"reordered", with(step{up, 103, 500, psh, "def", 0}, step{up, 100, 500, psh, "abc", 0}), "[c]abcdef", tcp.Open},
		{"first copy wins", with(step{up, 103, 500, psh, "def", 0}, step{up, 100, 500, psh, "abcXXXg", 0}), "[c]abcdefg", tcp.Open},
		{"fills between what waits", with(step{up, 102, 500, psh, "c", 0}, step{up, 104, 500, psh, "e", 0}, step{up, 101, 500, psh, "b.d.f", 0}, step{up, 100, 500, psh, "a", 0}), "[c]abcdef", tcp.Open},
		{"hole that the server acknowledged", with(step{up, 103, 500, psh, "def", 0}, step{down, 500, 106, ack, "", 0}), "[c]<3>def", tcp.Open},
		{"hole acknowledged before what follows", with(step{down, 500, 103, ack, "", 0}, step{up, 103, 500, psh, "def", 0}), "[c]<3>def", tcp.Open},
		{"acknowledgement ahead of its data", with(step{down, 500, 103, ack, "", 0}, step{up, 100, 500, psh, "abc", 0}), "[c]abc", tcp.Open},
		{"request not captured", with(step{down, 500, 120, psh, "answer", 0}), "[c]<20>[s]answer", tcp.Open},
		{"never filled", with(step{up, 103, 500, psh, "def", 0}), "[c]<3>def", tcp.Open},
		{"cut by the snaplen", with(step{up, 100, 500, psh, "ab", 10}, step{up, 110, 500, psh, "cd", 2}), "[c]ab<8>cd", tcp.Open},
		{"cut by the snaplen, waiting", with(step{up, 103, 500, psh, "d", 3}, step{up, 100, 500, psh, "abc", 0}), "[c]abcd<2>", tcp.Open},
		{"keep-alive bytes", with(step{up, 100, 500, psh, "abc", 0}, step{up, 102, 500, ack, "?", 0}, step{up, 103, 500, psh, "d", 0}), "[c]abcd", tcp.Open},
		{"keep-alive is the first captured", []step{{down, 500, 100, ack, "", 0}, {up, 99, 500, ack, "?", 0}, {up, 100, 500, psh, "a", 0}}, "[c]a", tcp.Open},
		{"FIN before its data", with(step{up, 103, 500, fin, "", 0}, step{down, 500, 100, fin, "", 0}, step{up, 100, 501, psh, "abc", 0}), "[c]abc", tcp.Finished},
		{"SYN, FIN and RST only", with(step{down, 600, 150, fin, "", 0}, step{up, 150, 601, fin, "", 0}), "[c]<50>[s]<100>", tcp.Finished},
		{"half closed", with(step{up, 100, 500, fin, "abc", 0}, step{down, 500, 104, psh, "xyz", 0}), "[c]abc[s]xyz", tcp.Half},
		{"bytes of a reset", with(step{down, 500, 100, rst | ack, "go away", 0}), "", tcp.Aborted},
		{"refused", []step{{up, 99, 0, syn, "", 0}, {down, 0, 100, rst | ack, "", 0}}, "", tcp.Refused},
		{"both open (RFC 9293, 3.5)", []step{{up, 99, 0, syn, "", 0}, {down, 499, 0, syn, "", 0}, {up, 99, 500, both, "", 0}, {down, 499, 100, both, "", 0}, {up, 100, 500, psh, "abc", 0}}, "[c]abc", tcp.Open},
		{"far outside of any window", with(step{up, 100 + 1<<31 - 5, 500, psh, "spoof", 0}, step{up, 100, 500, psh, "abc", 0}), "[c]abc", tcp.Open},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := &text{}
			tr := tcp.NewTracker(tcp.Limits{}, x)
			r := tr.Open(7)
			var v tcp.View
			for i, p := range c.steps {
				s := tcp.Segment{
					Frame: uint64(i + 1), Time: int64(i) * 1e6, Dir: p.dir, Seq: p.seq, Ack: p.ack, Flags: p.flags,
					Window: 1000, Data: []byte(p.data), Len: uint32(max(p.wire, len(p.data))),
				}
				tr.Segment(r, &s, &v)
			}
			tr.Close(r, 0)
			if x.String() != c.want || v.State != c.state {
				t.Errorf("%q, %d; want %q, %d", x.String(), v.State, c.want, c.state)
			}
		})
	}
}

// TestConflict tells overlaps with other content from plain repetition.
func TestConflict(t *testing.T) {
	t.Parallel()
	tr := tcp.NewTracker(tcp.Limits{}, nobody{})
	r := tr.Open(1)
	var v tcp.View
	for i, p := range []struct {
		seq      uint32
		data     string
		conflict bool
	}{{100, "a", false}, {110, "klm", false}, {109, "jkl", false}, {111, "XX", true}, {101, "bcdefghijKl", true}} {
		s := tcp.Segment{Frame: uint64(i + 1), Seq: p.seq, Ack: 1, Flags: ack, Len: uint32(len(p.data)), Data: []byte(p.data)}
		tr.Segment(r, &s, &v)
		if v.Conflict != p.conflict {
			t.Errorf("%d %q: conflict %v", p.seq, p.data, v.Conflict)
		}
	}
}

// TestUnwanted buffers nothing where nobody reads, and comes back in order.
func TestUnwanted(t *testing.T) {
	t.Parallel()
	x := &text{}
	tr := tcp.NewTracker(tcp.Limits{}, x)
	r := tr.Open(1)
	var v tcp.View
	send := func(seq uint32, data string) {
		s := tcp.Segment{Seq: seq, Ack: 1, Flags: ack, Len: uint32(len(data)), Data: []byte(data)}
		tr.Segment(r, &s, &v)
	}
	send(100, "abc")
	send(105, "fg")
	tr.Want(r, up, false)
	if _, _, held := tr.Load(); held != 0 {
		t.Errorf("%d bytes held for nobody", held)
	}
	for i := range uint32(1000) {
		send(107+2*i, "..")
	}
	if _, segs, held := tr.Load(); held != 0 || segs > 130 {
		t.Errorf("%d bytes and %d segments held for nobody", held, segs)
	}
	send(103, "de")
	if v.New != 2 {
		t.Errorf("New %d, want 2", v.New)
	}
	tr.Want(r, up, true)
	send(107+2000, "end")
	tr.Close(r, 0)
	if x.String() != "[c]abcend" {
		t.Errorf("%q", x.String())
	}
}

// TestRoundTrip measures by Karn's rule: a segment that was sent again gives no
// sample.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	tr := tcp.NewTracker(tcp.Limits{}, nobody{})
	r := tr.Open(1)
	var v tcp.View
	do := func(ms int64, d flow.Dir, seq, acked uint32, n uint32) tcp.View {
		s := tcp.Segment{Frame: uint64(ms), Time: ms * 1e6, Dir: d, Seq: seq, Ack: acked, Flags: ack, Len: n, Window: 500}
		tr.Segment(r, &s, &v)
		return v
	}
	do(1, up, 100, 500, 10)
	do(2, up, 110, 500, 10)
	if v := do(12, down, 500, 110, 0); v.RTT != 11e6 || v.RTTFrame != 1 || v.InFlight != 0 {
		t.Errorf("%+v", v)
	}
	do(400, up, 110, 500, 10)
	if v := do(410, down, 500, 120, 0); v.RTT != 0 || v.Acked != 10 {
		t.Errorf("a sample of a segment sent twice: %+v", v)
	}
	do(411, up, 120, 500, 10)
	do(412, up, 140, 500, 10)
	do(600, up, 130, 500, 10)
	if v := do(610, down, 500, 150, 0); v.RTT != 0 || v.Acked != 30 {
		t.Errorf("a sample of a segment that waited for one sent again: %+v", v)
	}
	if v := do(620, up, 150, 500, 30); v.InFlight != 30 || v.New != 30 {
		t.Errorf("%+v", v)
	}
}
