package prototest

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"netwhy/analyze/decode"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// Epoch is the capture time of offset 0: 2024-01-01 00:00:00 UTC.
const Epoch = int64(1704067200) * int64(time.Second)

// Conversation drives one analyzer. Make it with New; feed it with Send, Gap
// and End; read what was said from Rec and Facts.
type Conversation struct {
	Rec    *Recorder
	Facts  proto.Facts
	Client netip.AddrPort
	Server netip.AddrPort
	Err    error // why the analyzer was detached; nil: it was not
	// Packet is what Scope.Packet returns; nil: nothing was decoded.
	Packet *decode.Packet
	Became bool // the analyzer asked for the rest of the stream to be probed anew
	// Within are the protocols that decrypted bytes may be; the first whose
	// probe is Certain (or else Likely) takes them.
	Within []proto.Spec
	// Inner is what took the decrypted bytes; nil: nobody (yet).
	Inner *Conversation
	// InnerBytes are the decrypted bytes themselves, InnerLost the number lost.
	InnerBytes [2][]byte
	InnerLost  [2]int

	spec    proto.Spec
	carrier proto.Transport
	a       proto.Analyzer
	at      proto.Scope
	side    [2]side
	frame   uint64
	now     int64
	next    proto.Handover
	waiting [2][]byte // decrypted and not yet recognised
}

type side struct {
	buf   []byte
	marks []mark // where frames begin in buf
}

type mark struct {
	off   int
	at    int64
	frame uint64
}

// New makes a conversation over the given carrier, with port as the server's.
func New(spec proto.Spec, carrier proto.Transport, port uint16) *Conversation {
	c := &Conversation{
		Rec:     &Recorder{},
		Client:  netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, 10}), 40000),
		Server:  netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, 5}), port),
		spec:    spec,
		carrier: carrier,
		a:       spec.New(),
		now:     Epoch,
	}
	c.Rec.Declare(spec.Codes...)
	if carrier == proto.TCP {
		c.next.Inner = c.inner
		c.next.Lost = c.innerLost
	}
	return c
}

// Send gives bytes of one direction in one frame, at an offset from Epoch.
// Frames are numbered from 1. TCP keeps what is unused, the others drop it.
func (c *Conversation) Send(dir flow.Dir, at time.Duration, b []byte) *Conversation {
	c.frame++
	c.now = Epoch + int64(at)
	return c.feed(dir, b)
}

func (c *Conversation) feed(dir flow.Dir, b []byte) *Conversation {
	if c.Err != nil || c.Became {
		return c
	}
	w := &c.side[dir]
	if c.carrier != proto.TCP {
		w.buf, w.marks = w.buf[:0], w.marks[:0]
	}
	w.marks = append(w.marks, mark{off: len(w.buf), at: c.now, frame: c.frame})
	w.buf = append(w.buf, b...)
	for len(w.buf) > 0 && c.Err == nil && !c.Became {
		used, err := c.a.Data(c.scope(dir), dir, slices.Clip(w.buf))
		if used < 0 || used > len(w.buf) {
			c.Rec.Faults = append(c.Rec.Faults, fmt.Sprintf("used %d of %d bytes", used, len(w.buf)))
			used = len(w.buf)
		}
		w.drop(used)
		c.done(err)
		if used == 0 || c.carrier != proto.TCP {
			break
		}
	}
	if len(w.buf) > proto.MaxBuffered {
		c.Err = fmt.Errorf("more than %d bytes unused", proto.MaxBuffered)
	}
	return c
}

func (c *Conversation) done(err error) {
	if err != nil {
		c.Err = err
	}
	if c.next.Again {
		c.Became = true
	}
}

// Gap tells that n bytes of a direction were not captured.
func (c *Conversation) Gap(dir flow.Dir, at time.Duration, n int) *Conversation {
	c.frame++
	c.now = Epoch + int64(at)
	if c.Err != nil || c.Became {
		return c
	}
	c.side[dir] = side{}
	c.done(c.a.Gap(c.scope(dir), dir, n))
	return c
}

// End ends the conversation at an offset from Epoch.
func (c *Conversation) End(at time.Duration, why proto.End) *Conversation {
	c.now = Epoch + int64(at)
	if c.Err == nil && !c.Became {
		c.a.End(c.scope(flow.ToServer), why)
	}
	if c.Inner != nil {
		c.Inner.End(at, why)
	}
	return c
}

// Unused returns the bytes of a direction that the analyzer left.
func (c *Conversation) Unused(dir flow.Dir) []byte { return c.side[dir].buf }

func (c *Conversation) scope(dir flow.Dir) *proto.Scope {
	s := &c.at // the same for all calls, as in a lane
	s.At, s.FrameNo, s.BeganAt, s.BeganFrame = c.now, c.frame, c.now, c.frame
	s.ClientEnd, s.ServerEnd, s.Facts, s.Out, s.Pkt = c.Client, c.Server, &c.Facts, c.Rec, c.Packet
	if m := c.side[dir].marks; len(m) > 0 {
		s.BeganAt, s.BeganFrame = m[0].at, m[0].frame
	}
	if c.carrier == proto.TCP {
		s.Next = &c.next
	}
	return s
}

// drop forgets the first n bytes; the first mark stays that of the first byte.
func (w *side) drop(n int) {
	w.buf = append(w.buf[:0], w.buf[n:]...)
	first := 0
	for i := range w.marks {
		w.marks[i].off -= n
		if w.marks[i].off <= 0 {
			first = i
		}
	}
	w.marks = append(w.marks[:0], w.marks[first:]...)
	if len(w.buf) == 0 {
		w.marks = w.marks[:0]
	}
}

func (c *Conversation) inner(dir flow.Dir, b []byte) {
	c.InnerBytes[dir] = append(c.InnerBytes[dir], b...)
	if c.Inner != nil {
		c.Inner.frame, c.Inner.now = c.frame, c.now
		c.Inner.feed(dir, b)
		return
	}
	c.waiting[dir] = append(c.waiting[dir], b...)
	spec, ok := c.choose(dir)
	if !ok {
		return
	}
	c.Inner = New(spec, proto.TCP, c.Server.Port())
	c.Inner.Rec = c.Rec
	c.Inner.Within = c.Within
	c.Rec.Declare(spec.Codes...)
	for _, d := range [2]flow.Dir{flow.ToServer, flow.ToClient} {
		if len(c.waiting[d]) > 0 {
			c.Inner.frame, c.Inner.now = c.frame, c.now
			c.Inner.feed(d, c.waiting[d])
		}
	}
}

func (c *Conversation) choose(dir flow.Dir) (spec proto.Spec, ok bool) {
	for _, w := range c.Within {
		switch w.Probe(dir, c.waiting[dir]) {
		case proto.Certain:
			return w, true
		case proto.Likely:
			spec, ok = w, true
		case proto.No, proto.NeedMore:
		}
	}
	return spec, ok
}

func (c *Conversation) innerLost(dir flow.Dir, n int) {
	c.InnerLost[dir] += n
	if c.Inner != nil {
		c.Inner.frame, c.Inner.now = c.frame, c.now
		c.Inner.side[dir] = side{}
		c.Inner.done(c.Inner.a.Gap(c.Inner.scope(dir), dir, n))
	}
}
