package trace

import (
	"netwhy/analyze/conn"
	"netwhy/analyze/decode"
	"netwhy/analyze/flow"
	"netwhy/analyze/tcp"
	"netwhy/capture/packet"
)

// Bounds of what is kept of one connection.
const (
	maxFrames = 4000 // frames; beyond, every so many, and those that are marked
	maxRates  = 200  // steps of the throughput
)

// Trace is one connection, frame by frame.
type Trace struct {
	ID      flow.ID
	Client  string
	Server  string
	Start   int64 // of the connection, ns since 1970 UTC
	Stop    int64
	Frames  []Frame // in order of the capture
	Seen    uint64  // frames, kept or not
	Step    int64   // ns, of Rates
	Rates   [2][]uint64
	Payload [2]uint64 // bytes, by direction
}

// Frame is one segment, with what was known right after it.
type Frame struct {
	Number   uint64
	Time     int64 // ns since 1970 UTC
	Dir      flow.Dir
	Flags    uint16 // as in package tcp
	Seq, Ack uint32 // relative, as Wireshark shows them
	Len      uint32
	Window   uint32 // announced, scaled, bytes
	InFlight uint32 // bytes of this direction not yet acknowledged
	RTT      int64  // of the other direction's data, ns; 0: no sample
	Marks    tcp.Marks
}

// Exhibit is a frame that stands in a ladder diagram: who sent what to whom.
type Exhibit struct {
	Number   uint64
	Time     int64
	From, To string // addresses; empty: not known
	Label    string
	Len      uint32 // payload bytes; of what is no transport packet, the frame's
	Stream   flow.ID
	Marks    tcp.Marks
	Flags    uint16
}

// Set is what a second look at a capture gathers.
type Set struct {
	Traces   map[flow.ID]*Trace
	Exhibits map[uint64]Exhibit // by frame

	wanted  map[uint64]bool // frames to keep as exhibits
	tracks  map[flow.Key][]*track
	tracker *tcp.Tracker
	pkt     decode.Packet
	last    uint64
}

// track follows one connection.
type track struct {
	t           *Trace
	first, last uint64 // frames of the connection
	key         flow.Key
	clientIsA   bool
	stride      uint64
	extra       int // marked frames kept beyond the stride
	ref         tcp.Ref
	open        bool
	base        [2]uint32
	hasBase     [2]bool
}

type silent struct{}

func (silent) Deliver(uint32, *tcp.Segment, []byte) {}
func (silent) Gap(uint32, *tcp.Segment, uint32)     {}

// NewSet prepares for these connections, and for the frames to exhibit.
func NewSet(connections []*conn.Summary, frames []uint64) *Set {
	s := &Set{
		Traces: make(map[flow.ID]*Trace), Exhibits: make(map[uint64]Exhibit),
		wanted: make(map[uint64]bool), tracks: make(map[flow.Key][]*track),
		tracker: tcp.NewTracker(tcp.Limits{Total: 1 << 16}, silent{}),
	}
	for _, n := range frames {
		s.wanted[n] = true
		s.last = max(s.last, n)
	}
	for _, c := range connections {
		s.want(c)
	}
	return s
}

func (s *Set) want(c *conn.Summary) {
	if s.Traces[c.ID] != nil {
		return
	}
	client, server := c.Client.Addr, c.Server.Addr
	key, clientIsA := flow.NewKey(c.ID.Proto, client.Addr().As16(), server.Addr().As16(), client.Port(), server.Port(), 0)
	t := &Trace{
		ID: c.ID, Client: client.String(), Server: server.String(), Start: c.Start, Stop: max(c.Stop, c.Start),
		Step: max(1_000_000, (c.Stop-c.Start)/maxRates+1),
	}
	s.Traces[c.ID] = t
	total := c.Client.Packets + c.Server.Packets
	s.tracks[key] = append(s.tracks[key], &track{
		t: t, first: c.First, last: c.Last, key: key, clientIsA: clientIsA, stride: total/maxFrames + 1,
	})
	s.last = max(s.last, c.Last)
}

// Last is the last frame that matters.
func (s *Set) Last() uint64 { return s.last }

// Add looks at one frame.
func (s *Set) Add(f *packet.Frame, data []byte) {
	p := &s.pkt
	decode.Decode(f.Link, data, f.WireLen, p)
	var tr *track
	if p.Kind == decode.KindTCP || p.Kind == decode.KindUDP {
		key := p.Key
		key.Realm = 0
		for _, x := range s.tracks[key] {
			if x.first <= f.Number && f.Number <= x.last {
				tr = x
			}
		}
	}
	exhibit := s.wanted[f.Number]
	var marks tcp.Marks
	if tr != nil {
		marks = s.follow(tr, f, data)
		// The handshake and the end are shown whatever else is.
		exhibit = exhibit || tr.t.Seen <= opening || p.Kind == decode.KindTCP && p.Flags&(tcp.FlagFIN|tcp.FlagRST|tcp.FlagSYN) != 0 && len(s.Exhibits) < maxExhibits
	}
	if !exhibit {
		return
	}
	x := Describe(f, data, p)
	x.Marks = marks
	if tr != nil {
		x.Stream = tr.t.ID
	}
	s.Exhibits[f.Number] = x
}

// The first frames of a connection stand in its ladder.
const (
	opening     = 4
	maxExhibits = 20_000
)

// follow judges a frame of a connection and keeps it.
func (s *Set) follow(x *track, f *packet.Frame, data []byte) tcp.Marks {
	p, t := &s.pkt, x.t
	t.Seen++
	dir := flow.ToClient
	if p.SrcIsA == x.clientIsA {
		dir = flow.ToServer
	}
	t.rate(dir, f.Time, p.PayloadLen)
	out := Frame{Number: f.Number, Time: f.Time, Dir: dir, Len: p.PayloadLen}
	if p.Kind == decode.KindTCP {
		s.segment(x, &out, f, data)
	}
	regular := (t.Seen-1)%x.stride == 0
	marked := out.Marks != 0 || p.Flags&(tcp.FlagSYN|tcp.FlagFIN|tcp.FlagRST) != 0 || s.wanted[f.Number]
	switch {
	case regular && len(t.Frames) < 2*maxFrames:
	case marked && x.extra < maxFrames:
		x.extra++
	default:
		return out.Marks
	}
	t.Frames = append(t.Frames, out)
	return out.Marks
}

func (s *Set) segment(x *track, out *Frame, f *packet.Frame, data []byte) {
	p := &s.pkt
	if !x.open {
		x.open = true
		x.ref = s.tracker.Open(0)
		s.tracker.Want(x.ref, flow.ToServer, false)
		s.tracker.Want(x.ref, flow.ToClient, false)
	}
	const least = 20
	head := tcp.HeaderOf(int(p.HdrLen), min(int(p.End), len(data))-int(p.L4), int(p.HdrLen)+int(p.PayloadLen))
	if p.BadHeader && p.HdrLen >= least {
		head = tcp.HeaderLong
	}
	seg := tcp.Segment{
		Frame: f.Number, Time: f.Time, Dir: out.Dir, Seq: p.Seq, Ack: p.Ack, Flags: p.Flags, Window: p.Window, Len: p.PayloadLen,
		Data: p.Data(data), Options: p.Options(data), TTL: p.TTL, IPID: p.IPID, IPv6: p.IPVersion == 6, WireLen: f.WireLen, Header: head,
	}
	var v tcp.View
	out.Marks = s.tracker.Segment(x.ref, &seg, &v)
	d, back := out.Dir, out.Dir.Reverse()
	if !x.hasBase[d] {
		x.hasBase[d] = true
		x.base[d] = p.Seq - 1
		if p.Flags&tcp.FlagSYN != 0 {
			x.base[d] = p.Seq
		}
	}
	if p.Flags&tcp.FlagACK != 0 {
		if !x.hasBase[back] {
			x.hasBase[back] = true
			x.base[back] = p.Ack - 1
		}
		out.Ack = p.Ack - x.base[back]
	}
	out.Seq, out.Flags, out.Window, out.InFlight, out.RTT = p.Seq-x.base[d], p.Flags, v.Window, v.InFlight, v.RTT
}

// rate counts payload into its step.
func (t *Trace) rate(dir flow.Dir, at int64, n uint32) {
	t.Payload[dir] += uint64(n)
	i := min(max(at-t.Start, 0)/t.Step, maxRates)
	for int64(len(t.Rates[dir])) <= i {
		t.Rates[dir] = append(t.Rates[dir], 0)
	}
	t.Rates[dir][i] += uint64(n)
}
