package analyze

import (
	"encoding/binary"

	"netwhy/analyze/correlate"
	"netwhy/analyze/decode"
	"netwhy/analyze/flow"
	"netwhy/capture/packet"
)

// dealt is a frame that a lane analyses.
type dealt struct {
	at   uint32 // which of the batch
	hash uint32 // of a plain one, see decode.Glance; 0: Decode has to look at it
}

// deal looks at each frame of a batch and writes down who analyses it. odd is for those
// that a glance does not tell.
func (p *pipeline) deal(w *work, odd *decode.Packet) {
	defer packet.Rescue("the dealer", func(err error) {
		w.clear(0) // what stands there is of this batch and of one before
		p.fail(err)
	})
	frames, buf, of, lanes := w.batch.Frames, w.batch.Buf, w.of, uint32(len(w.of))
	w.clear(len(frames))
	t := &w.tally
	t.counters = w.batch.Counters
	t.times(frames)
	var tcp, udp uint64 // plain frames
	rate := 0
	for i := range frames {
		f := &frames[i]
		data, d := buf[f.Offset:f.Offset+f.CapLen], dealt{at: uint32(i)}
		if f.Link == packet.LinkEthernet {
			var proto uint8
			if d.hash, proto = decode.Glance(data); d.hash != 0 {
				if proto == flow.TCP {
					tcp++
				} else {
					udp++
				}
				if toAll(data) {
					rate = t.broadcast(f, rate)
				}
				lane := share(d.hash, lanes)
				of[lane] = append(of[lane], d)
				continue
			}
		}
		decode.Decode(f.Link, data, f.WireLen, odd)
		for proto := range odd.Protos.All() {
			t.protocols[proto]++
		}
		if odd.Kind == decode.KindUndecoded {
			t.undecoded++
		}
		if odd.L2Kind == decode.L2Ethernet && toAll(data[odd.L2:]) {
			rate = t.broadcast(f, rate)
		}
		if odd.Broadcast {
			for lane := range of {
				of[lane] = append(of[lane], d)
			}
			continue
		}
		lane := owner(odd, lanes)
		of[lane] = append(of[lane], d)
	}
	t.protocols[decode.Eth] += tcp + udp
	t.protocols[decode.IP] += tcp + udp
	t.protocols[decode.TCP] += tcp
	t.protocols[decode.UDP] += udp
	t.latest = max(t.latest, w.batch.Clock)
}

// clear makes ready to deal out n frames.
func (w *work) clear(n int) {
	for lane := range w.of {
		if cap(w.of[lane]) < n {
			w.of[lane] = make([]dealt, 0, n+n/4)
		}
		w.of[lane] = w.of[lane][:0]
	}
	w.tally = tally{rates: w.tally.rates[:0]}
}

// owner is the lane that analyses a packet. What has no conversation, or speaks
// to a group, is seen as a whole by the first lane: there is little of it, and
// who has to remember all of it must not depend on the number of lanes.
func owner(p *decode.Packet, lanes uint32) uint32 {
	switch p.Kind {
	case decode.KindTCP:
		return share(p.Hash, lanes)
	case decode.KindUDP:
		if toGroup(p) {
			return 0
		}
		return share(p.Hash, lanes)
	case decode.KindICMP, decode.KindICMPv6:
		if p.Quotes && (p.Quote().Proto == flow.TCP || p.Quote().Proto == flow.UDP) {
			return share(p.Hash, lanes)
		}
	case decode.KindUndecoded, decode.KindSCTP, decode.KindIPOther, decode.KindARP, decode.KindLink, decode.KindFragment:
	}
	return 0
}

// share is which of n equal parts of the hash space a hash lies in.
func share(hash, n uint32) uint32 { return uint32(uint64(hash) * uint64(n) >> 32) }

// toGroup reports whether a packet is for several hosts: multicast (RFC 5771,
// RFC 4291, 2.7) or limited broadcast (RFC 919).
func toGroup(p *decode.Packet) bool {
	dst := &p.Key.A
	if p.SrcIsA {
		dst = &p.Key.B
	}
	if p.IPVersion == 4 {
		return dst[12] >= 224 && dst[12] < 240 || dst[12] == 255
	}
	return dst[0] == 0xff
}

// toAll reports whether an Ethernet frame is for all: no multicast address begins so.
func toAll(frame []byte) bool { return binary.LittleEndian.Uint16(frame) == 0xffff }

// tally is what is counted of a batch without any state: by the dealer, once.
type tally struct {
	counters    packet.Counters // of the source
	packets     uint64
	bytes       uint64 // on the wire
	first, last int64  // times of the first and last frame
	latest      int64
	reversals   uint64 // frames older than the one before, within the batch
	snapped     uint64 // frames cut by the snaplen
	undecoded   uint64
	protocols   [decode.Protos]uint64

	rates []correlate.Rate // by second
}

// times counts what the headers of the records tell.
func (t *tally) times(frames []packet.Frame) {
	if len(frames) == 0 {
		return
	}
	t.packets = uint64(len(frames))
	t.first, t.last = frames[0].Time, frames[len(frames)-1].Time
	last, latest, bytes := t.first, t.first, uint64(0)
	begin, start := 0, t.openRate(&frames[0])
	for i := range frames {
		f := &frames[i]
		if uint64(f.Time-start) >= second { // earlier ones too, by the wrap
			t.closeRate(frames[begin:i])
			begin, start = i, t.openRate(f)
		}
		bytes += uint64(f.WireLen)
		if f.Time < last {
			t.reversals++
		}
		last, latest = f.Time, max(latest, f.Time)
		if f.CapLen < f.WireLen {
			t.snapped++
		}
	}
	t.closeRate(frames[begin:])
	t.bytes, t.latest = bytes, latest
}

// openRate begins the second that a frame is in, and tells when that began.
func (t *tally) openRate(f *packet.Frame) int64 {
	into := (f.Time%second + second) % second // also before 1970
	t.rates = append(t.rates, correlate.Rate{First: f.Number, Start: f.Time - into})
	return f.Time - into
}

// closeRate counts the frames of the latest second.
func (t *tally) closeRate(frames []packet.Frame) {
	r := &t.rates[len(t.rates)-1]
	r.Frames, r.Last = uint64(len(frames)), frames[len(frames)-1].Number
}

// broadcast notes that a frame is for all. rate is the second that the one before was in.
func (t *tally) broadcast(f *packet.Frame, rate int) int {
	for rate+1 < len(t.rates) && t.rates[rate+1].First <= f.Number {
		rate++
	}
	t.rates[rate].Broadcasts++
	return rate
}
