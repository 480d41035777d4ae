package trace

import (
	"fmt"
	"net/netip"
	"strings"

	"netwhy/analyze/decode"
	"netwhy/analyze/flow"
	"netwhy/analyze/tcp"
	"netwhy/capture/packet"
)

// Describe says who sent what to whom, from the headers alone: no byte of
// payload gets into a label.
func Describe(f *packet.Frame, data []byte, p *decode.Packet) Exhibit {
	x := Exhibit{Number: f.Number, Time: f.Time, Len: p.PayloadLen, Flags: p.Flags}
	src, dst := flow.Addr(p.Src()), flow.Addr(p.Dst())
	switch p.Kind {
	case decode.KindTCP:
		x.From, x.To = port(src, p.SrcPort()), port(dst, p.DstPort())
		x.Label = FlagNames(p.Flags)
		return x
	case decode.KindUDP, decode.KindSCTP:
		x.From, x.To = port(src, p.SrcPort()), port(dst, p.DstPort())
		x.Label = strings.ToUpper(p.Kind.String())
		return x
	case decode.KindICMP:
		x.From, x.To, x.Label = src.String(), dst.String(), fmt.Sprintf("ICMP %d/%d", p.ICMPType, p.ICMPCode)
	case decode.KindICMPv6:
		x.From, x.To, x.Label = src.String(), dst.String(), fmt.Sprintf("ICMPv6 %d/%d", p.ICMPType, p.ICMPCode)
	case decode.KindIPOther, decode.KindFragment:
		x.From, x.To, x.Label = src.String(), dst.String(), strings.ToUpper(p.Kind.String())
	case decode.KindARP:
		x.arp(data, p)
	case decode.KindLink, decode.KindUndecoded:
		x.Label = p.Kind.String()
		x.macs(data, p)
	}
	x.Len = f.WireLen
	return x
}

func (x *Exhibit) arp(data []byte, p *decode.Packet) {
	m, ok := decode.ARPFields(data, p)
	if !ok {
		x.Label = "ARP"
		x.macs(data, p)
		return
	}
	x.From, x.To = netip.AddrFrom4(m.SenderIP).String(), netip.AddrFrom4(m.TargetIP).String()
	const request = 1
	if m.Op == request {
		x.Label = "ARP who has " + x.To
		return
	}
	x.Label = fmt.Sprintf("ARP %s is at %s", x.From, mac(m.SenderMAC))
}

func (x *Exhibit) macs(data []byte, p *decode.Packet) {
	if src, dst, ok := p.MACs(data); ok {
		x.From, x.To = mac(src), mac(dst)
	}
}

func mac(m decode.MAC) string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

func port(a netip.Addr, p uint16) string { return netip.AddrPortFrom(a, p).String() }

// FlagNames writes the flags of a TCP header as Wireshark does: "SYN, ACK".
func FlagNames(flags uint16) string {
	var out []string
	for _, n := range []struct {
		flag uint16
		name string
	}{
		{tcp.FlagFIN, "FIN"}, {tcp.FlagSYN, "SYN"}, {tcp.FlagRST, "RST"}, {tcp.FlagPSH, "PSH"}, {tcp.FlagACK, "ACK"}, {tcp.FlagURG, "URG"},
	} {
		if flags&n.flag != 0 {
			out = append(out, n.name)
		}
	}
	if len(out) == 0 {
		return "no flags"
	}
	return strings.Join(out, ", ")
}
