package ledger

import (
	"math"
	"net/netip"

	"netwhy/analyze/flow"
	"netwhy/analyze/tcp"
)

// handshake follows SYNs, FINs and the first RST in the record. It returns whether
// the segment needs a talk.
func (r *record) handshake(s *tcp.Segment, v *tcp.View) (more bool) {
	d := s.Dir & 1
	switch s.Flags & (tcp.FlagSYN | tcp.FlagACK | tcp.FlagRST) {
	case 0: // FIN or nothing: even the last segments acknowledge (RFC 9293, 3.10.7)
		r.flags |= flagOdd
	case tcp.FlagSYN:
		if s.Flags&tcp.FlagFIN != 0 {
			r.flags |= flagOdd
		}
		if d == flow.ToClient {
			r.flags |= flagCrossed
			break
		}
		if r.syns == 0 {
			if r.packets[0]+r.packets[1] == 1 {
				r.flags |= flagSYN
			}
			r.handshakeOptions(s)
			if s.Flags&(tcp.FlagECE|tcp.FlagCWR) == tcp.FlagECE|tcp.FlagCWR {
				r.flags |= flagECNSetup
			}
			if s.Len > 0 {
				r.flags |= flagFastOpen
			}
		} else {
			more = true
		}
		r.syns = uint8(min(int(r.syns)+1, math.MaxUint8))
	case tcp.FlagSYN | tcp.FlagACK:
		if r.synAcks > 0 && s.Time-r.synAck < synWindow {
			break // seen twice by several taps: no timer is as quick
		}
		if r.flags&flagRefused != 0 {
			r.flags = r.flags&^flagRefused | flagOverruled
			more = true
		}
		if r.synAcks == 0 {
			r.synAck = s.Time
			r.handshakeOptions(s)
			if r.flags&flagECNSetup != 0 && s.Flags&tcp.FlagECE != 0 {
				r.flags |= flagECN // RFC 3168, 6.1.1
			}
		} else {
			more = true
		}
		r.synAcks = uint8(min(int(r.synAcks)+1, math.MaxUint8))
	default:
		if r.ready == 0 && v.Established && r.synAck != 0 && d == flow.ToServer && s.Flags&tcp.FlagRST == 0 {
			r.ready = s.Time
		}
	}
	if v.Established {
		r.flags |= flagEstablished
	}
	if v.MidStream {
		r.flags |= flagMid
	}
	if v.ClientKnown {
		r.flags |= flagKnown
	}
	if s.Flags&tcp.FlagFIN != 0 {
		r.flags |= side(flagFin, d)
		if r.flags&(flagRst|flagRstServer) == 0 {
			r.end, r.endAt, r.endTTL, r.endSide = s.Frame, s.Time, s.TTL, d
		}
	}
	if s.Flags&tcp.FlagRST != 0 {
		if r.flags&(flagRst|flagRstServer) == 0 {
			r.end, r.endAt, r.endTTL, r.endSide = s.Frame, s.Time, s.TTL, d
			if r.flags&flagSYN != 0 && r.synAck == 0 && d == flow.ToClient && !v.MidStream && r.flags&flagEstablished == 0 {
				r.flags |= flagRefused
			}
		}
		r.flags |= side(flagRst, d)
	}
	return more
}

// retry notes repeated SYNs and SYN-ACKs, which the record has counted.
func (t *talk) retry(r *record, s *tcp.Segment) {
	switch s.Flags & (tcp.FlagSYN | tcp.FlagACK | tcp.FlagRST) {
	case tcp.FlagSYN:
		ev := t.evidence(SYNRetry)
		if ev.Count == 0 {
			ev.Add(r.first, r.start)
		}
		ev.Add(s.Frame, s.Time)
		if r.synAck == 0 {
			t.synAt = s.Time
		}
	case tcp.FlagSYN | tcp.FlagACK:
		if r.flags&flagOverruled != 0 && t.resets.odd == 0 {
			t.overruled(r, s)
		}
		if r.synAcks > 1 {
			t.prove(SYNACKRetry, s)
			t.sackAt = s.Time
		}
	}
}

// overruled notes that the server took a connection that a RST in its name had
// refused.
func (t *talk) overruled(r *record, s *tcp.Segment) {
	t.hurt()
	x := &t.resets
	x.odd, x.wentOn = 1, 1
	x.oddTTL, x.realTTL, x.oddSide, x.oddSides = r.endTTL, s.TTL, flow.ToClient, 1<<flow.ToClient
	x.oddAt = r.endAt
	ev := t.evidence(ResetInjected)
	ev.Add(r.end, r.endAt)
	ev.Add(s.Frame, s.Time)
	ev.Count = 1
}

// resets is what is known of the RSTs of a connection.
type resets struct {
	frame     uint64
	at        int64
	last      int64 // last payload before the first
	idle      int64 // silence before what it answers
	took      int64 // data to RST
	reqBytes  uint64
	respBytes uint64

	n          uint32
	unacked    uint32
	side       flow.Dir
	phase      turnState
	ttl        uint8
	closing    bool // a FIN of that side came before
	lateData   bool // and data of the other side after that
	finAny     bool
	answered   bool // it answers data (or a keep-alive) that came after silence
	keepAlive  bool
	answerSide flow.Dir
	answerTTL  uint8
	zeroWindow bool
	pushing    bool // the server was in the middle of a message
	moving     bool // data had come just before

	// what does not fit the host in whose name they came
	oddTTL   uint8
	realTTL  uint8
	oddID    bool
	oddSides uint8
	oddSide  flow.Dir
	oddPhase turnState
	seenSide uint8 // sides that a RST came from
	odd      uint32
	payloads uint32
	wentOn   uint32 // segments of the same side afterwards
	oddFrame uint64
	oddAt    int64
}

// reset notes a RST.
func (t *talk) reset(r *record, s *tcp.Segment) {
	t.odd()
	d := s.Dir & 1
	f, o, x := &t.voice[d], &t.voice[d^1], &t.resets
	x.n++
	x.seenSide |= 1 << d
	t.prove(Reset, s)
	t.misfit(r, s)
	t.answers(s)
	if x.n > 1 {
		return
	}
	x.frame, x.at, x.side, x.ttl = s.Frame, s.Time, d, s.TTL
	x.phase = t.turn.state
	x.last = t.rec
	x.closing = f.flags&vFin != 0
	x.finAny = (f.flags|o.flags)&vFin != 0
	x.lateData = x.closing && o.lastAt > f.finAt
	x.unacked = o.inFlight()
	if d == flow.ToClient && f.inFlight() > 0 {
		x.unacked = max(x.unacked, f.inFlight())
	}
	x.reqBytes, x.respBytes = t.turn.reqBytes, t.turn.respBytes
	x.pushing = t.cutShort()
	x.moving = t.rec != 0 && s.Time-t.rec < max(2*t.roundTrip(), 50*millisecond)
}

// answers notes a RST that answers the first words after a silence. It need not be
// the first one: a host that restarts may have sent one that never arrived.
func (t *talk) answers(s *tcp.Segment) {
	d := s.Dir & 1
	f, o, x := &t.voice[d], &t.voice[d^1], &t.resets
	last := max(o.lastAt, o.keepAt)
	if x.answered || t.quiet == 0 || t.quietDir != d^1 || f.heard >= t.quietEnd || s.Time-last > second+2*t.half(d) {
		return
	}
	x.answered, x.idle, x.took = true, t.quiet, s.Time-last
	x.answerSide, x.answerTTL = d, s.TTL
	x.zeroWindow = s.Window == 0 && s.Seq == f.next
	x.keepAlive = o.keepRun > 0 && o.keepAt >= t.quietEnd
	if x.keepAlive {
		x.idle = max(x.idle, o.keepIdle)
	}
	ev := t.evidence(ResetAfterIdle)
	rising(ev, t.quietFrame, t.quietEnd)
	rising(ev, s.Frame, s.Time)
}

// misfit compares a RST with what its host's other segments look like.
func (t *talk) misfit(r *record, s *tcp.Segment) {
	d := s.Dir & 1
	f, x := &t.voice[d], &t.resets
	if f.ttls == 0 {
		return
	}
	byTTL := differs(s.TTL, f.ttl)
	byID := !s.IPv6 && f.numbered() && s.IPID != 0 && s.IPID-f.lastID > maxMissing && f.lastID-s.IPID > maxMissing
	x.oddID = x.oddID || byID
	if !byTTL {
		return // a closed socket's RST may well take its ID from another counter
	}
	if d == flow.ToServer && r.flags&flagEstablished == 0 {
		return // a scanner makes its SYNs by hand, the host's own stack resets the answers
	}
	if x.odd == 0 {
		x.oddTTL, x.realTTL, x.oddSide = s.TTL, f.ttl, d
		x.oddFrame, x.oddAt, x.oddPhase = s.Frame, s.Time, t.turn.state
		x.payloads = t.voice[0].segments + t.voice[1].segments
	}
	x.odd++
	x.oddSides |= 1 << d
	t.prove(ResetInjected, s)
}

// afterReset notes what a host sends after a RST in its name.
func (t *talk) afterReset(s *tcp.Segment) {
	x := &t.resets
	if x.n == 0 || x.seenSide&(1<<(s.Dir&1)) == 0 || s.Flags&tcp.FlagRST != 0 {
		return
	}
	if s.Len > 0 || s.Flags&tcp.FlagACK != 0 && s.Time-x.at > 0 {
		x.wentOn++
	}
}

// icmp is what ICMP errors said of a connection.
type icmp struct {
	n          uint32
	kind, code uint8
	v6         bool
	fromPeer   bool
	connecting bool
	toServer   bool
	mtu        uint16
	from       netip.Addr
	at         int64
	mended     int64 // time of the next progress; 0: none
}
