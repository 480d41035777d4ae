package decode_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"netwhy/analyze/decode"
	"netwhy/analyze/flow"
	"netwhy/capture"
	"netwhy/capture/packet"
)

// tsharkVersion is the one whose streams we follow.
const tsharkVersion = " 4.0."

// tsharkFields are asked for each frame, in this order.
var tsharkFields = []string{
	"frame.number", "frame.protocols", "ip.src", "ip.dst", "ipv6.src", "ipv6.dst",
	"tcp.srcport", "tcp.dstport", "udp.srcport", "udp.dstport", "tcp.stream", "udp.stream", "tcp.len",
}

// encapsulations are the captures compared by default: tunnels, link types and
// fragments. NETWHY_ALL=1 compares all there are, in some minutes.
var encapsulations = []string{
	"tcpdump__erspan-type-i*-1.pcap", "tcpdump__geneve*", "packetnet__vxlan.pcap", "tcpdump__mpls*", "suriver__bug-6887*",
	"libpcap__[gpv]*", "zeek__*gre*", "zeek__*gtp[0-9]*", "zeek__*teredo*", "zeek__*fabric*",
	"syn-frag*", "syn-snap*", "syn-tcp-offsets*", "arkime__pppoe*", "arkime__dot1ad*", "pcpp__ip*frag*",
	"skydive__[gv]*", "aircrack__MOM1*", "ndpi__6in4*",
}

// differences are captures in which a frame may be read otherwise, and why.
var differences = map[string]string{
	"sflow":            "samples of other people's packets inside sFlow are no flow of this capture",
	"of13_ericsson":    "packets inside OpenFlow messages are no flow of this capture",
	"pdp_ctx_messages": "GTP' is not followed",
	"gtp_control":      "GTP' is not followed",
	"AH-IPcomp":        "compressed payloads (IPComp) are not inflated",
	"lwapp":            "LWAPP is not followed",
	"aruba-amsdu":      "of an aggregate of 802.11 frames the first is followed",
	"bigtcp":           "IPv6 without a length is read to the end of the frame; tshark 4.0 stops",
	"nest-vxlan-500":   "more layers than maxLayers",
	"PIM-SM":           "PIM version 1 inside IGMP",
	"nhrp":             "NHRP's quote of a packet is not followed",
	"mobility-dst":     "tshark stops at a malformed destination option",
	"decode-malformed": "tshark stops at a malformed IP option",
	"incl-200mb":       "a record of a length that tshark takes for data",
	"test018":          "tshark counts custom blocks as frames",
	"unknown-blocks":   "tshark counts custom blocks as frames",
	"invalid_length":   "an IPv4 header of 17 bytes",
	"snap-every":       "tshark shows addresses of headers that are cut",
	"fuzz":             "random bytes",
	"random":           "random bytes",
	"overflow":         "random bytes",
	"crash":            "random bytes",
	"oobr":             "random bytes",
	"asan":             "random bytes",
	"short":            "cut or malformed headers are named by one and not by the other",
	"too-small":        "cut or malformed headers are named by one and not by the other",
	"macsec-snap":      "cut or malformed headers are named by one and not by the other",
	"erspan-type-iii":  "cut or malformed headers are named by one and not by the other",
	"invalid":          "the wrong version of IP where another is announced",
	"broken":           "the wrong version of IP where another is announced",
	"bad-version":      "the wrong version of IP where another is announced",
	"wrong-version":    "the wrong version of IP where another is announced",
	"test006":          "experimental Ethernet: tshark shows data",
}

// foreign are files that package capture does not read.
var foreign = []string{".erf", "snoop", "foreign"}

// conversation is one that tshark shows in a frame.
type conversation struct {
	proto    uint8
	src, dst netip.AddrPort
}

func (c conversation) String() string { return fmt.Sprintf("%d %s>%s", c.proto, c.src, c.dst) }

// TestTshark compares conversations, innermost addresses, lengths and the names
// of the stack with tshark, frame by frame.
func TestTshark(t *testing.T) {
	needed := map[string]bool{}
	for _, name := range compared(t) {
		base := filepath.Base(name)
		known := ""
		for part := range differences {
			if strings.Contains(base, part) && len(part) > len(known) {
				known = part
			}
		}
		t.Run(base, func(t *testing.T) {
			diffs := differing(t, name)
			switch {
			case len(diffs) == 0:
			case known == "":
				t.Error(strings.Join(diffs[:min(len(diffs), 4)], "\n"))
			default:
				needed[known] = true
				t.Logf("%s: %s", differences[known], diffs[0])
			}
		})
	}
	for part := range differences {
		if os.Getenv("NETWHY_ALL") != "" && !needed[part] {
			t.Errorf("no capture with %q in its name differs any more", part)
		}
	}
}

// differing describes the frames that are read otherwise than by tshark.
func differing(t *testing.T, name string) (diffs []string) {
	t.Helper()
	rows := runTshark(t, name)
	var def decode.Defragmenter
	each(t, name, func(f *packet.Frame, data []byte) {
		row := rows[f.Number]
		if row == nil {
			return
		}
		var p decode.Packet
		decode.Decode(f.Link, data, f.WireLen, &p)
		if p.Kind == decode.KindFragment {
			def.Add(f.Number, f.Time, data, &p)
		}
		if diff := compare(row, &p); diff != "" {
			diffs = append(diffs, fmt.Sprintf("frame %d, link type %d, %s: %s (%v %q)", f.Number, f.Link, row[1], diff, p.Kind, p.Err))
		}
	})
	return diffs
}

// compared lists the captures to compare.
func compared(t *testing.T) []string {
	t.Helper()
	if testing.Short() {
		t.Skip("tshark takes its time")
	}
	robust := shared(t, "corpus-robust")
	out, err := exec.CommandContext(t.Context(), "tshark", "--version").Output()
	if err != nil || !bytes.Contains(out[:min(len(out), 60)], []byte(tsharkVersion)) {
		if os.Getenv("CI") == "true" {
			t.Fatalf("tshark%sx is needed: %v", tsharkVersion, err)
		}
		t.Skipf("no tshark%sx here", tsharkVersion)
	}
	var patterns []string
	for _, p := range encapsulations {
		patterns = append(patterns, filepath.Join(robust, p))
	}
	if os.Getenv("NETWHY_ALL") != "" {
		patterns = []string{filepath.Join(robust, "*"), filepath.Join(shared(t, "corpus"), "*.*"), filepath.Join(shared(t, "lab"), "*.pcap*")}
	}
	var names []string
	for _, p := range patterns {
		list, err := filepath.Glob(p)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, list...)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool {
		base := filepath.Base(name)
		return isDir(name) || slices.ContainsFunc(foreign, func(f string) bool { return strings.Contains(base, f) })
	})
}

// runTshark returns what tshark says of each frame, by its number.
func runTshark(t *testing.T, name string) map[uint64][]string {
	t.Helper()
	args := []string{"-n", "-r", name, "-c", "20000", "-T", "fields", "-E", "occurrence=a", "-E", "aggregator=,"}
	for _, f := range tsharkFields {
		args = append(args, "-e", f)
	}
	out, err := exec.CommandContext(t.Context(), "tshark", args...).Output()
	if err != nil && len(out) == 0 {
		return nil // not a capture
	}
	rows := map[uint64][]string{}
	s := bufio.NewScanner(bytes.NewReader(out))
	s.Buffer(nil, 1<<24)
	for s.Scan() {
		c := strings.Split(s.Text(), "\t")
		for len(c) < len(tsharkFields) {
			c = append(c, "")
		}
		n, err := strconv.ParseUint(c[0], 10, 64)
		if err != nil {
			continue
		}
		rows[n] = c
	}
	return rows
}

// compare tells in what p differs from a row, "" if in nothing.
func compare(row []string, p *decode.Packet) string {
	want, src, sure := conversations(row)
	var got []conversation
	for i := range int(p.NConvs) {
		c := p.Conv(i)
		if c.Quoted {
			continue
		}
		a, b := c.Key.AddrA(), c.Key.AddrB()
		if !c.SrcIsA {
			a, b = b, a
		}
		got = append(got, conversation{c.Key.Proto, a, b})
	}
	if sure && !slices.Equal(got, want) {
		return fmt.Sprintf("got %v, want %v", got, want)
	}
	noIP := p.Kind == decode.KindARP || p.Kind == decode.KindLink && endsInLink(row[1])
	if src.IsValid() && !noIP && (p.IPVersion == 0 || flow.Addr(p.Src()) != src) {
		return fmt.Sprintf("got source %v, want %v", flow.Addr(p.Src()), src)
	}
	if p.Kind == decode.KindTCP && row[12] != "" && !p.BadHeader {
		lens := strings.Split(row[12], ",")
		if want := lens[len(lens)-1]; want != strconv.FormatUint(uint64(p.PayloadLen), 10) {
			return fmt.Sprintf("got %d bytes of payload, want %s", p.PayloadLen, want)
		}
	}
	return stackDiff(row[1], p)
}

// endsInLink reports whether a stack has a link layer behind its last IP header:
// what is innermost in a tunnel then has no addresses of IP.
func endsInLink(chain string) bool {
	at := max(strings.LastIndex(chain, ":ip:"), strings.LastIndex(chain, ":ipv6:"))
	inside := strings.Split(chain[max(at, 0):], ":")
	return slices.ContainsFunc(inside, func(name string) bool {
		return name == "eth" || name == "ppp" || name == "wlan" || name == "osi"
	})
}

// conversations reads a row's lists side by side with its stack, up to an ICMP
// error's quote. sure is false where headers without a stream leave it open
// which is which.
func conversations(row []string) (out []conversation, src netip.Addr, sure bool) {
	lists := make([][]string, len(row))
	for i, v := range row {
		if v != "" {
			lists[i] = strings.Split(v, ",")
		}
	}
	next := func(i int) string {
		if len(lists[i]) == 0 {
			return ""
		}
		v := lists[i][0]
		lists[i] = lists[i][1:]
		return v
	}
	end := func(a netip.Addr, field int) netip.AddrPort {
		v, _ := strconv.ParseUint(next(field), 10, 16)
		return netip.AddrPortFrom(a, uint16(v))
	}
	const ipSrc, ip6Src, tcpSrc, udpSrc, tcpStream, udpStream = 2, 4, 6, 8, 10, 11
	sure = len(lists[tcpStream]) == len(lists[tcpSrc]) && len(lists[udpStream]) == len(lists[udpSrc])
	var dst netip.Addr
	for name := range strings.SplitSeq(row[1], ":") {
		switch name {
		case "ip", "ipv6":
			at := ipSrc
			if name == "ipv6" {
				at = ip6Src
			}
			if a, err := netip.ParseAddr(next(at)); err == nil {
				src = a.Unmap()
			}
			if a, err := netip.ParseAddr(next(at + 1)); err == nil {
				dst = a.Unmap()
			}
		case "tcp":
			if len(lists[tcpSrc]) > 0 && sure {
				out = append(out, conversation{flow.TCP, end(src, tcpSrc), end(dst, tcpSrc+1)})
			}
		case "udp":
			if len(lists[udpSrc]) > 0 && sure {
				out = append(out, conversation{flow.UDP, end(src, udpSrc), end(dst, udpSrc+1)})
			}
		case "icmp", "icmpv6":
			return out, src, sure
		}
	}
	return out, src, sure
}

// stackDiff names protocols that only one of the two saw. Of what an ICMP error
// quotes, neither has to see all.
func stackDiff(chain string, p *decode.Packet) string {
	names := map[string]decode.Proto{}
	for pr := range decode.Protos {
		names[pr.String()] = pr
	}
	var seen, aboveUDP decode.Set // GTP's control, PTP and Wake-on-LAN are also applications: named elsewhere
	aboveUDP.Add(decode.GTP)
	aboveUDP.Add(decode.PTP)
	aboveUDP.Add(decode.WOL)
	var diff []string
	quoted := false
	for n := range strings.SplitSeq(chain, ":") {
		pr, ok := names[n]
		switch {
		case !ok || quoted && pr != decode.TCP && pr != decode.UDP && pr != decode.Data:
		case quoted: // what an error quotes counts where it has a stream
			seen.Add(pr)
		case pr == decode.Data && (seen.Has(decode.UDP) || seen.Has(decode.TCP)):
			seen.Add(pr) // above a transport it depends on the port: not the decoder's concern
		default:
			seen.Add(pr)
			if !p.Protos.Has(pr) && !aboveUDP.Has(pr) {
				diff = append(diff, "-"+n)
			}
		}
		quoted = quoted || n == "icmp" || n == "icmpv6"
	}
	for pr := range p.Protos.All() {
		if !seen.Has(pr) {
			diff = append(diff, "+"+pr.String())
		}
	}
	return strings.Join(diff, " ")
}

// each calls fn with every frame of a capture; what is not one has none.
func each(t *testing.T, name string, fn func(*packet.Frame, []byte)) {
	t.Helper()
	src, err := capture.Open(t.Context(), []string{name}, capture.Options{})
	if err != nil {
		return
	}
	defer src.Close()
	for {
		b, err := src.Next(context.WithoutCancel(t.Context()))
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Log(name, err)
			}
			return
		}
		for i := range b.Frames {
			fn(&b.Frames[i], b.Data(&b.Frames[i]))
		}
		b.Release()
	}
}
