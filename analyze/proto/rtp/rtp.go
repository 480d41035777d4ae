// Package rtp reads the Real-time Transport Protocol (RFC 3550): packets that are
// lost, jitter, and what a listener would think of it. MPEG transport streams
// inside (RFC 2250) are checked for continuity.
package rtp

import (
	"encoding/binary"
	"slices"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// Codes of findings.
const (
	Loss      finding.Code = "rtp.loss"
	Quality   finding.Code = "rtp.quality"
	TSDropped finding.Code = "mp2t.continuity"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	lost := finding.Metric{Name: "lost", Doc: "sequence numbers that never came"}
	packets := finding.Metric{Name: "packets", Doc: "packets that came"}
	percent := finding.Metric{Name: "lost_percent", Doc: "of those sent"}
	jitter := finding.Metric{Name: "jitter_ms", Doc: "interarrival jitter at the end (RFC 3550, 6.4.1)"}
	mos := finding.Metric{Name: "mos", Doc: "mean opinion score, estimated by the E-model (ITU-T G.107) from loss alone; 4.4 is the best of G.711"}
	payload := finding.Metric{Name: "payload_type", Doc: "RFC 3551, 6"}
	return proto.Spec{
		Name: name, Doc: "Real-time Transport Protocol, RFC 3550",
		Also:    append(unitNames(), rtcp, "mp2t"),
		Carrier: proto.UDP, Anywhere: true,
		Probe: probe,
		New:   func() proto.Analyzer { return &analyzer{} },
		Codes: []finding.Def{
			{
				Code: Loss, Severity: finding.Notice,
				Doc:     "At least one in a hundred packets of a stream was lost, three or more: a listener hears it (ITU-T G.113).",
				Metrics: []finding.Metric{lost, packets, percent, {Name: "longest_gap", Doc: "most packets lost in a row"}, jitter, mos, payload},
			},
			{
				Code: Quality, Severity: finding.Info,
				Doc:     "How a media stream of fifty packets or more fared.",
				Metrics: []finding.Metric{packets, lost, percent, jitter, mos, payload},
			},
			{
				Code: TSDropped, Severity: finding.Notice,
				Doc: "Transport stream packets are missing: the continuity counter of a program jumped (ISO/IEC 13818-1, 2.4.3.3).",
				Metrics: []finding.Metric{
					{Name: "pid", Doc: "of the program element"},
					{Name: "jumps", Merge: finding.Sum, Doc: "jumps of the counter"},
				},
			},
		},
	}
}

const (
	name                     = "rtp"
	rtcp                     = "rtcp"
	headLen                  = 12
	firstRTCP                = 200
	lastRTCP                 = 204
	tsPacket, tsHead, tsSync = 188, 4, 0x47
	typeTS                   = 33
	clock8k                  = 8000
)

// probe knows static payload types by the lengths that they can have; what was
// negotiated (96 and above) has no mark.
func probe(_ flow.Dir, b []byte) proto.Verdict {
	if len(b) < headLen || b[0]>>6 != 2 {
		return proto.No
	}
	if isRTCP(b) {
		return proto.Likely
	}
	head := headLen + 4*int(b[0]&15)
	if len(b) <= head || b[0]&0x30 != 0 { // padding and extensions do not come first
		return proto.No
	}
	n := len(b) - head
	ok := false
	switch b[1] & 0x7f {
	case 0, 8: // G.711: 1 byte a sample, 10 ms at least
		ok = n%80 == 0 && n <= 960
	case 9: // G.722
		ok = n%80 == 0 && n <= 640
	case 3: // GSM
		ok = n%33 == 0 && n <= 132
	case 18: // G.729, with a comfort noise frame at the end
		ok = (n%10 == 0 || n%10 == 2) && n >= 10 && n <= 60
	case 4: // G.723.1
		ok = n == 24 || n == 20
	case typeTS:
		if n%tsPacket == 0 && b[head] == tsSync {
			return proto.Certain
		}
	}
	if ok {
		return proto.Likely
	}
	return proto.No
}

// isRTCP reports whether the lengths of a compound packet add up (RFC 3550, 6.4).
func isRTCP(b []byte) bool {
	if b[1] != firstRTCP && b[1] != firstRTCP+1 {
		return false
	}
	for len(b) >= 4 {
		n := 4 + 4*int(binary.BigEndian.Uint16(b[2:]))
		if b[0]>>6 != 2 || b[1] < firstRTCP || b[1] > lastRTCP || n > len(b) {
			return false
		}
		b = b[n:]
	}
	return len(b) == 0
}

// stream is one source in one direction.
type stream struct {
	ssrc       uint32
	payload    byte
	started    bool
	highest    uint32 // sequence number, extended
	first      uint32
	packets    uint64
	ev         finding.Evidence // where packets are missing
	all        finding.Evidence
	gap        uint32  // longest
	clock      float64 // Hz; 0: not known yet
	base       uint32  // first timestamp
	since      int64   // and its time
	transit    float64
	jitter     float64 // in clock units
	continuity map[uint16]byte
	units      map[uint16]*unit // by PID, as many as continuity has
}

type analyzer struct{ streams [2][]*stream }

// maxStreams bounds the sources that share a direction: sound, picture, and some
// that took over from others.
const maxStreams = 8

// of returns the stream of a source. Where there are too many, the oldest ends.
func (a *analyzer) of(s *proto.Scope, dir flow.Dir, ssrc uint32) *stream {
	list := a.streams[dir]
	for _, x := range list {
		if x.ssrc == ssrc {
			return x
		}
	}
	if len(list) >= maxStreams {
		list[0].end(s)
		list = slices.Delete(list, 0, 1)
	}
	x := &stream{ssrc: ssrc}
	a.streams[dir] = append(list, x)
	return x
}

// Data takes one packet.
func (a *analyzer) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	if len(b) < headLen || b[0]>>6 != 2 {
		return len(b), nil
	}
	if isRTCP(b) {
		s.Carries(rtcp)
		return len(b), nil
	}
	if s.Duplicate() {
		return len(b), nil
	}
	x := a.of(s, dir, binary.BigEndian.Uint32(b[8:]))
	x.payload = b[1] & 0x7f
	x.take(s, binary.BigEndian.Uint16(b[2:]), binary.BigEndian.Uint32(b[4:]))
	if head := headLen + 4*int(b[0]&15); x.payload == typeTS && len(b) > head {
		s.Carries("mp2t")
		x.ts(s, b[head:])
	}
	return len(b), nil
}

func (x *stream) take(s *proto.Scope, seq uint16, stamp uint32) {
	x.packets++
	x.all.Add(s.Frame(), s.Now())
	if !x.started {
		x.started, x.first, x.highest = true, uint32(seq), uint32(seq)
		x.base, x.since = stamp, s.Now()
		if x.payload < firstDynamic {
			x.clock = clock8k
		}
		x.transit = x.transitOf(s.Now(), stamp)
		return
	}
	if x.clock == 0 {
		x.clock = x.rate(s.Now(), stamp)
		x.transit = x.transitOf(s.Now(), stamp)
	}
	transit := x.transitOf(s.Now(), stamp)
	d := transit - x.transit
	x.transit = transit
	if d < 0 {
		d = -d
	}
	if d < x.clock { // talk spurts begin anew
		x.jitter += (d - x.jitter) / 16
	}
	ahead := int16(seq - uint16(x.highest&0xffff)) //nolint:gosec // serial number arithmetic (RFC 1982)
	const restart = 3000                           // RFC 3550, A.1: MAX_DROPOUT
	switch {
	case ahead > restart || ahead < -restart:
		*x = stream{
			ssrc: x.ssrc, payload: x.payload, started: true, highest: uint32(seq), first: uint32(seq), packets: 1,
			clock: x.clock, base: stamp, since: s.Now(),
		}
	case ahead > 0:
		if ahead > 1 {
			x.gap = max(x.gap, uint32(ahead)-1)
			x.ev.Add(s.Frame(), s.Now())
		}
		x.highest += uint32(ahead)
	}
}

// transitOf is arrival less timestamp, in units of the clock (RFC 3550, A.8).
func (x *stream) transitOf(now int64, stamp uint32) float64 {
	return float64(now-x.since)/1e9*x.clock - float64(stamp-x.base)
}

// ts checks the continuity counters.
func (x *stream) ts(s *proto.Scope, b []byte) {
	if x.continuity == nil {
		x.continuity, x.units = map[uint16]byte{}, map[uint16]*unit{}
	}
	const nullPID, maxPIDs = 0x1fff, 256
	for ; len(b) >= tsPacket && b[0] == tsSync; b = b[tsPacket:] {
		pid, flags, counter := binary.BigEndian.Uint16(b[1:])&0x1fff, b[3]>>4&3, b[3]&15
		if pid == nullPID || flags&1 == 0 { // counts only with a payload
			continue
		}
		last, known := x.continuity[pid]
		discontinuity := flags&2 != 0 && b[4] > 0 && b[5]&0x80 != 0
		if known && counter != last && counter != (last+1)&15 && !discontinuity {
			s.Report(TSDropped, finding.Num(pid), finding.Num(1))
		}
		if known || len(x.continuity) < maxPIDs {
			x.continuity[pid] = counter
			x.unit(s, pid, b[:tsPacket])
		}
	}
}

// unit hands the payload of a packet to what its PID carries.
func (x *stream) unit(s *proto.Scope, pid uint16, b []byte) {
	at := tsHead
	if b[3]&0x20 != 0 {
		at += 1 + int(b[tsHead])
	}
	if at > len(b) || b[3]&0xc0 != 0 { // scrambled
		return
	}
	u := x.units[pid]
	if u == nil {
		u = &unit{}
		x.units[pid] = u
	}
	u.take(s, pid, b[at:], b[1]&0x40 != 0)
}

func (x *stream) end(s *proto.Scope) {
	const enough, audible = 50, 3
	if x.packets == 0 {
		return
	}
	sent := uint64(x.highest-x.first) + 1
	lost := uint64(0)
	if sent > x.packets {
		lost = sent - x.packets
	}
	percent := 100 * float64(lost) / float64(max(sent, 1))
	jitter := 0.0
	if x.clock > 0 && x.payload != typeTS { // that has another clock
		jitter = x.jitter * 1000 / x.clock
	}
	p, l, c, j := finding.Num(x.packets), finding.Num(lost), finding.Num(percent), finding.Num(jitter)
	m, t := finding.Num(score(percent)), finding.Num(x.payload)
	at := *s
	if lost >= audible && percent >= 1 && x.ev.Count > 0 {
		at.FrameNo, at.At = x.ev.First, x.ev.Start
		at.Report(Loss, l, p, c, finding.Num(x.gap), j, m, t)
	}
	if x.packets >= enough && x.payload != typeTS {
		at.FrameNo, at.At = x.all.Last, x.all.End
		at.Report(Quality, p, l, c, j, m, t)
	}
}

// score is the E-model's for G.711 with loss concealment and no delay to speak of
// (ITU-T G.107, 7.1; G.113, I.3: Ie 0, Bpl 25.1).
func score(percent float64) float64 {
	const base, bpl = 93.2, 25.1
	r := base - 95*percent/(percent+bpl)
	if r <= 0 {
		return 1
	}
	return min(1+0.035*r+r*(r-60)*(100-r)*7e-6, 4.5)
}

// Gap does nothing: there is no stream of bytes.
func (*analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End judges both directions.
func (a *analyzer) End(s *proto.Scope, _ proto.End) {
	for _, list := range a.streams {
		for _, x := range list {
			x.end(s)
		}
	}
}
