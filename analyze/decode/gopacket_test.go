package decode_test

import (
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"netwhy/analyze/decode"
	"netwhy/capture"
	"netwhy/capture/packet"
)

// TestAgreesWithGopacket reads every plain Ethernet frame of the corpus with
// gopacket's layers as well: two decoders that share no line must see the same
// addresses, ports, numbers and payload. Left out is what the two mean to read
// differently: tunnels, fragments, packets that either calls broken, and lengths
// that offload leaves at 0.
func TestAgreesWithGopacket(t *testing.T) {
	t.Parallel()
	list, err := filepath.Glob(filepath.Join(shared(t, "corpus"), "*.pcap*"))
	if err != nil {
		t.Fatal(err)
	}
	compared, odd := 0, 0
	peer := newPeer()
	for _, name := range list {
		file, err := capture.Open(t.Context(), []string{name}, capture.Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for {
			b, err := file.Next(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for i := range b.Frames {
				f := &b.Frames[i]
				if f.Link != packet.LinkEthernet || f.CapLen != f.WireLen {
					continue
				}
				switch diff, ok := peer.differs(b.Data(f)); {
				case !ok:
				case diff != "":
					odd++
					t.Errorf("%s frame %d: %s", filepath.Base(name), f.Number, diff)
				default:
					compared++
				}
			}
			b.Release()
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	const least = 50_000 // frames, or the comparison has lost its object
	t.Logf("gopacket sees the same in %d of %d frames", compared, compared+odd)
	if compared < least {
		t.Errorf("only %d frames were compared", compared)
	}
}

// peer is gopacket's parser with the layers that it fills.
type peer struct {
	eth    layers.Ethernet
	vlan   layers.Dot1Q
	ip4    layers.IPv4
	ip6    layers.IPv6
	tcp    layers.TCP
	udp    layers.UDP
	parser *gopacket.DecodingLayerParser
	seen   []gopacket.LayerType
}

func newPeer() *peer {
	p := &peer{}
	p.parser = gopacket.NewDecodingLayerParser(layers.LayerTypeEthernet, &p.eth, &p.vlan, &p.ip4, &p.ip6, &p.tcp, &p.udp)
	p.parser.IgnoreUnsupported = true
	return p
}

// differs compares one frame; ok tells whether both can be asked about it.
func (g *peer) differs(data []byte) (diff string, ok bool) {
	if g.parser.DecodeLayers(data, &g.seen) != nil || len(g.seen) < 3 || g.parser.Truncated {
		return "", false
	}
	var p decode.Packet
	decode.Decode(packet.LinkEthernet, data, uint32(len(data)), &p)
	if p.Tunnel != decode.NoTunnel || p.Err != decode.NoError || p.NoLength6 {
		return "", false
	}
	var payload []byte
	var src, dst uint16
	switch g.seen[len(g.seen)-1] {
	case layers.LayerTypeTCP:
		if p.Kind != decode.KindTCP || p.BadHeader {
			return "kind " + p.Kind.String() + " is TCP", p.Kind != decode.KindFragment
		}
		src, dst, payload = uint16(g.tcp.SrcPort), uint16(g.tcp.DstPort), g.tcp.Payload
		if g.tcp.Seq != p.Seq || g.tcp.Ack != p.Ack || g.tcp.Window != p.Window || int(p.HdrLen) != int(g.tcp.DataOffset)*4 {
			return "TCP numbers", true
		}
		if flags := p.Flags; g.tcp.SYN != (flags&2 != 0) || g.tcp.FIN != (flags&1 != 0) || g.tcp.RST != (flags&4 != 0) ||
			g.tcp.ACK != (flags&16 != 0) || g.tcp.PSH != (flags&8 != 0) || g.tcp.ECE != (flags&64 != 0) || g.tcp.NS != (flags&256 != 0) {
			return "TCP flags", true
		}
	case layers.LayerTypeUDP:
		if p.Kind != decode.KindUDP {
			return "kind " + p.Kind.String() + " is UDP", p.Kind != decode.KindFragment
		}
		src, dst, payload = uint16(g.udp.SrcPort), uint16(g.udp.DstPort), g.udp.Payload
	default:
		return "", false
	}
	if src != p.SrcPort() || dst != p.DstPort() {
		return "ports", true
	}
	if len(payload) != len(p.Data(data)) || int(p.PayloadLen) != len(payload) {
		return "payload", true
	}
	from, to, hops := g.ip4.SrcIP, g.ip4.DstIP, g.ip4.TTL
	if p.IPVersion == 6 {
		from, to, hops = g.ip6.SrcIP, g.ip6.DstIP, g.ip6.HopLimit
	}
	if a, b := p.Src(), p.Dst(); a != [16]byte(from.To16()) || b != [16]byte(to.To16()) || hops != p.TTL {
		return "addresses or TTL", true
	}
	return "", true
}
