package decode_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"

	"netwhy/analyze/decode"
	"netwhy/analyze/flow"
	"netwhy/capture"
	"netwhy/capture/packet"
)

type layer struct {
	proto    uint8
	src, dst netip.AddrPort
}

func (l layer) String() string { return fmt.Sprintf("%d %s>%s", l.proto, l.src, l.dst) }

// TestCompareTshark is a tool.
func TestCompareTshark(t *testing.T) {
	dir := os.Getenv("NETWHY_TSHARK_DIR")
	if dir == "" {
		t.Skip("no NETWHY_TSHARK_DIR")
	}
	shared := "/work/shared"
	list, _ := filepath.Glob(filepath.Join(dir, "*.tsv"))
	groups := map[string][]string{}
	frames, bad := 0, 0
	for _, tsv := range list {
		name := strings.TrimSuffix(filepath.Base(tsv), ".tsv")
		var path string
		switch name[0] {
		case 'R':
			path = filepath.Join(shared, "corpus-robust", name[2:])
		case 'C':
			path = filepath.Join(shared, "corpus", name[2:])
		default:
			path = filepath.Join(shared, "lab", name[2:])
		}
		rows := readTSV(tsv)
		tw, uw := map[string]bool{}, map[string]bool{}
		for _, c := range rows {
			ch, _, _ := strings.Cut(c[1], ":icmp")
			nt, nu := strings.Count(ch+":", ":tcp:"), strings.Count(ch+":", ":udp:")
			for i, v := range strings.Split(c[10], ",") {
				if v != "" && i < nt {
					tw[v] = true
				}
			}
			for i, v := range strings.Split(c[11], ",") {
				if v != "" && i < nu {
					uw[v] = true
				}
			}
		}
		if len(rows) < 20000 {
			if nt, nu := countConversations(t, path); nt != len(tw) || nu != len(uw) {
				t.Logf("CONV %s tcp %d want %d, udp %d want %d", name, nt, len(tw), nu, len(uw))
			}
		}
		var def decode.Defragmenter
		each(t, path, func(f *packet.Frame, data []byte) {
			row := rows[f.Number]
			if row == nil {
				return
			}
			frames++
			var p decode.Packet
			decode.Decode(f.Link, data, f.WireLen, &p)
			if p.Kind == decode.KindFragment {
				if w, ok := def.Add(f.Number, f.Time, data, &p); ok {
					data = w.Data
				}
			}
			want, inner, ok := parseRow(row)
			var got []layer
			for i := range int(p.NConvs) {
				c := p.Convs[i]
				if c.Quoted {
					continue
				}
				a, b := c.Key.AddrA(), c.Key.AddrB()
				if !c.SrcIsA {
					a, b = b, a
				}
				got = append(got, layer{c.Key.Proto, a, b})
			}
			why := ""
			if ok && fmt.Sprint(got) != fmt.Sprint(want) {
				why = "conv"
			}
			if inner.IsValid() && (p.IPVersion == 0 || flow.Addr(p.Src()) != inner) && p.Kind != decode.KindARP {
				why += "addr"
			}
			if why == "" && p.Kind == decode.KindTCP && len(row[12]) > 0 && !p.BadHeader {
				ls := strings.Split(row[12], ",")
				if ls[len(ls)-1] != strconv.Itoa(int(p.PayloadLen)) {
					why = "len"
				}
			}
			if why == "" && !p.NoLength6 {
				why = stackDiff(row[1], &p)
			}
			if why != "" {
				bad++
				k := fmt.Sprintf("%s | %s | %v %v", why, row[1], p.Kind, p.Err)
				groups[k] = append(groups[k], fmt.Sprintf("%s:%d link %d\n      want %v %v\n      got  %v %v", name, f.Number, f.Link, want, inner, got, flow.Addr(p.Src())))
			}
		})
	}
	var keys []string
	for k := range groups {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool { return len(groups[keys[i]]) > len(groups[keys[j]]) })
	for _, k := range keys {
		t.Logf("%5d %s\n    %s", len(groups[k]), k, groups[k][0])
	}
	t.Logf("%d frames, %d differ", frames, bad)
}

func readTSV(name string) map[uint64][]string {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	m := map[uint64][]string{}
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<24)
	for s.Scan() {
		c := strings.Split(s.Text(), "\t")
		for len(c) < 18 {
			c = append(c, "")
		}
		n, _ := strconv.ParseUint(c[0], 10, 64)
		m[n] = c
	}
	return m
}

func parseRow(c []string) (out []layer, inner netip.Addr, ok bool) {
	split := func(i int) []string {
		if c[i] == "" {
			return nil
		}
		return strings.Split(c[i], ",")
	}
	s4, d4, s6, d6 := split(2), split(3), split(4), split(5)
	ts, td, us, ud := split(6), split(7), split(8), split(9)
	tst, ust := split(10), split(11)
	ok = len(tst) == len(ts) && len(ust) == len(us)
	next := func(l *[]string) string {
		if len(*l) == 0 {
			return ""
		}
		v := (*l)[0]
		*l = (*l)[1:]
		return v
	}
	port := func(s string) uint16 {
		v, _ := strconv.ParseUint(s, 10, 16)
		return uint16(v)
	}
	var src, dst netip.Addr
	for _, p := range strings.Split(c[1], ":") {
		switch p {
		case "ip", "ipv6":
			a, b := &s4, &d4
			if p == "ipv6" {
				a, b = &s6, &d6
			}
			if s, e1 := netip.ParseAddr(next(a)); e1 == nil {
				src = s.Unmap()
				if e, e2 := netip.ParseAddr(next(b)); e2 == nil {
					dst = e.Unmap()
				}
			}
		case "tcp":
			if sp := next(&ts); sp != "" && len(tst) > 0 {
				out = append(out, layer{6, netip.AddrPortFrom(src, port(sp)), netip.AddrPortFrom(dst, port(next(&td)))})
			}
		case "udp":
			if sp := next(&us); sp != "" && len(ust) > 0 {
				out = append(out, layer{17, netip.AddrPortFrom(src, port(sp)), netip.AddrPortFrom(dst, port(next(&ud)))})
			}
		case "icmp", "icmpv6":
			return out, src, ok || len(out) == 0
		}
	}
	return out, src, ok
}

func each(t *testing.T, name string, fn func(*packet.Frame, []byte)) {
	t.Helper()
	src, err := capture.Open(context.Background(), []string{name}, capture.Options{})
	if err != nil {
		return
	}
	defer src.Close()
	for {
		b, err := src.Next(context.Background())
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

func stackDiff(chain string, p *decode.Packet) string {
	names := map[string]decode.Proto{}
	for pr := range decode.Protos {
		names[pr.String()] = pr
	}
	names["ieee8021ad"] = decode.VLAN
	names["igmp"] = decode.IGMP
	seen := map[decode.Proto]bool{}
	diff := ""
	for _, n := range strings.Split(chain, ":") {
		if pr, ok := names[n]; ok {
			seen[pr] = true
			if !p.Protos.Has(pr) && !strings.Contains(diff, n) {
				diff += " -" + n
			}
		}
		if n == "icmp" || n == "icmpv6" {
			break
		}
	}
	for pr := range p.Protos.All() {
		if !seen[pr] {
			diff += " +" + pr.String()
		}
	}
	return diff
}
