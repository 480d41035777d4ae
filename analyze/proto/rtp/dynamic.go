package rtp

import (
	"encoding/binary"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/assigned"
)

// Dynamic declares the same for payload types that were negotiated elsewhere (96
// and above; RFC 3551, 3): one packet of them proves nothing, three in a row do.
// Until then the conversation is what its name says, UDP, and counts as nothing
// else. Codes are declared by Spec.
//
// The offer (SDP) is not asked: it goes another way, is encrypted as often as
// not, and often is not in the capture.
func Dynamic() proto.Spec {
	return proto.Spec{
		Name: "udp", Doc: "Real-time Transport Protocol with negotiated payload types, RFC 3550",
		Also:    []string{name, rtcp},
		Carrier: proto.UDP, Anywhere: true,
		Probe: probeDynamic,
		New:   func() proto.Analyzer { return &dynamic{} },
	}
}

const (
	firstDynamic = 96
	lastDynamic  = 127
	proofs       = 3  // packets in a row that make a stream
	maxStep      = 16 // sequence numbers between two of them; more are lost in a row by nobody whose call stands
)

// probeDynamic wants version 2 without padding or contributing sources, and a
// payload.
func probeDynamic(_ flow.Dir, b []byte) proto.Verdict {
	const version, extension = 0x80, 0x10
	if len(b) <= headLen || b[0]&^extension != version || b[1]&0x7f < firstDynamic || b[1]&0x7f > lastDynamic {
		return proto.No
	}
	return proto.Likely
}

// dynamic is a conversation that may be one of media.
type dynamic struct {
	analyzer

	proof  [2]proof
	sure   bool
	denied bool
}

// proof is what was seen of one direction.
type proof struct {
	ssrc, stamp uint32
	seq         uint16
	count       int
}

// Data takes one packet.
func (a *dynamic) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	switch {
	case a.denied || s.Duplicate() && !a.sure:
		unsure(s, b)
		return len(b), nil
	case !a.sure:
		s.App("")
		a.judge(dir, b)
		if !a.sure {
			unsure(s, b)
			return len(b), nil
		}
	}
	s.App(name)
	if len(b) >= headLen && b[0]>>6 == 2 { // others (RFC 7983) may share the port
		s.Carries(name)
	}
	return a.analyzer.Data(s, dir, b)
}

// unsure counts a packet of which nobody knows whether it is of media.
func unsure(s *proto.Scope, b []byte) {
	if assigned.LooksRTCP(b) {
		s.Carries(rtcp)
	} else {
		s.Carries(assigned.Data)
	}
}

// judge compares a packet with the one before it in its direction.
func (a *dynamic) judge(dir flow.Dir, b []byte) {
	if len(b) > headLen && isRTCP(b) {
		return
	}
	if len(b) <= headLen || b[0]>>6 != 2 {
		a.denied = true
		return
	}
	p := &a.proof[dir]
	last := *p
	p.seq, p.stamp, p.ssrc = binary.BigEndian.Uint16(b[2:]), binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	const minute = 60 * 90000 // of the fastest clock in use
	switch step := p.seq - last.seq; {
	case last.count == 0:
	case p.ssrc != last.ssrc, step == 0 || step > maxStep, p.stamp-last.stamp > minute:
		a.denied = true
		return
	}
	p.count++
	a.sure = p.count >= proofs
}

// clocks are the rates that payload formats use, Hz (RFC 3551, 6; RFC 7587; RFC
// 6184).
func clocks() [6]float64 { return [6]float64{8000, 16000, 32000, 44100, 48000, 90000} }

// rate finds the clock of a stream by how fast its stamps run; 0: not yet, or none
// that is known.
func (x *stream) rate(now int64, stamp uint32) float64 {
	const enough, tolerance = 20, 0.04
	if x.packets < enough || now <= x.since {
		return 0
	}
	hz := float64(stamp-x.base) / (float64(now-x.since) / 1e9)
	for _, c := range clocks() {
		if hz > c*(1-tolerance) && hz < c*(1+tolerance) {
			return c
		}
	}
	return 0
}
