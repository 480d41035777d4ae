package decode

import (
	"encoding/binary"
	"math"

	"netwhy/analyze/flow"
	"netwhy/capture/packet"
)

// maxLayers bounds how deep headers may be nested: more than any honest network
// has, few enough that a crafted frame costs no more than a normal one.
const maxLayers = 24

// decoder is the state of one Decode: it lives on the stack.
type decoder struct {
	p     *Packet
	b     []byte // captured bytes up to the end of the layer at hand
	wire  int    // offset behind the layer's last byte on the wire; never below len(b)
	depth int
}

// Decode reads one frame into p. data are its captured bytes, wireLen its
// length on the wire. It never fails: what could not be read is told in p.Err.
func Decode(link packet.LinkType, data []byte, wireLen uint32, p *Packet) {
	if len(data) > math.MaxInt32 {
		data = data[:math.MaxInt32]
	}
	if link != packet.LinkEthernet || !p.plain(data) {
		p.layers(link, data, wireLen)
	}
}

// layers reads a frame layer by layer.
func (p *Packet) layers(link packet.LinkType, data []byte, wireLen uint32) {
	p.reset()
	var d decoder // by fields: a literal would be made beside it and copied
	d.p, d.b, d.wire = p, data, max(len(data), int(min(wireLen, math.MaxInt32)))
	p.End = pos(len(data))
	if link == packet.LinkEthernet {
		d.ethernet(0)
	} else {
		d.link(link)
	}
	p.finish()
}

// reset clears what the last frame left.
func (p *Packet) reset() {
	p.fields = fields{}
	p.L2, p.L3, p.L4, p.Payload = None, None, None, None
}

// finish sets what depends on the whole frame.
func (p *Packet) finish() {
	if p.L4 == None {
		p.L4 = p.End
	}
	if p.Payload == None {
		p.Payload = p.End
	}
	switch {
	case p.Kind == KindFragment:
		p.Broadcast = true
	case p.Quotes:
		p.Hash = p.rare.quote.Key.Hash32()
	default:
		p.Hash = p.Key.Hash32()
	}
}

// pos turns an offset or length into what Packet keeps.
func pos(n int) uint32 {
	return uint32(n) //nolint:gosec // neither negative nor above 2^31: Decode clips its input
}

// need reports whether n bytes are captured at off, and notes why not.
func (d *decoder) need(off, n int) bool {
	if off+n <= len(d.b) {
		return true
	}
	d.missing(off + n)
	return false
}

// missing notes that the bytes before end were not captured or never were.
func (d *decoder) missing(end int) {
	if end <= d.wire {
		d.fail(Short)
	} else {
		d.fail(Truncated)
	}
}

func (d *decoder) fail(r Reason) {
	if d.p.Err == NoError {
		d.p.Err = r
	}
}

// cut ends the layer at hand at an offset of the wire, if that is earlier.
func (d *decoder) cut(end int) {
	end = max(end, 0)
	if end < d.wire {
		d.wire = end
	}
	if end < len(d.b) {
		d.b = d.b[:end]
	}
	d.p.End = pos(len(d.b))
}

// deeper counts a layer and reports whether one more is allowed.
func (d *decoder) deeper() bool {
	d.depth++
	if d.depth > maxLayers {
		d.fail(TooDeep)
		return false
	}
	return true
}

func (d *decoder) u16(off int) uint16 { return binary.BigEndian.Uint16(d.b[off:]) }
func (d *decoder) u32(off int) uint32 { return binary.BigEndian.Uint32(d.b[off:]) }

// enter notes a tunnel; the outermost one is kept. The link header around it is that of
// its ends: of who speaks inside it says nothing.
func (d *decoder) enter(t TunnelKind) {
	switch t {
	case TunnelAH, TunnelPPPoE, TunnelPBB: // the ends are who speaks
	default:
		d.p.L2Kind = L2None
	}
	if d.p.Tunnel == NoTunnel {
		d.p.Tunnel = t
	}
}

// conversation notes that the frame is part of the conversation Key. The first one is
// not written down: it is nearly always the only one.
func (d *decoder) conversation() {
	p := d.p
	switch {
	case p.NoLength6 || p.NConvs >= MaxConvs:
		return
	case p.NConvs == 0:
		p.own = true
	default:
		p.more().convs[p.NConvs] = Conv{Key: p.Key, SrcIsA: p.SrcIsA}
	}
	p.NConvs++
}

// keep writes the first conversation down, before Key becomes that of an inner layer.
func (p *Packet) keep() {
	if p.own {
		p.more().convs[0] = Conv{Key: p.Key, SrcIsA: p.SrcIsA}
		p.own = false
	}
}

// ports completes a key whose addresses are set.
func (d *decoder) ports(src, dst uint16) {
	p := d.p
	setPorts(&p.Key, &p.SrcIsA, src, dst)
}

func setPorts(k *flow.Key, srcIsA *bool, src, dst uint16) {
	if k.A == k.B {
		*srcIsA = src <= dst
	}
	if *srcIsA {
		k.PortA, k.PortB = src, dst
	} else {
		k.PortA, k.PortB = dst, src
	}
}
