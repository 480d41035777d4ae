//go:build cgo

package capture

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"netwhy/capture/packet"
)

func TestFilteredFramesKeepTheirNumbers(t *testing.T) {
	t.Parallel()
	arp := strings.Repeat("\x00", 12) + "\x08\x06" + strings.Repeat("\x00", 46)
	other := strings.Repeat("\x00", 12) + "\x88\xcc" + strings.Repeat("\x00", 46)
	content := pcapFile(1, sample{Data: other}, sample{Data: arp}, sample{Data: other}, sample{Data: arp})
	name := write(t, "x.pcap", content)
	for _, names := range [][]string{{name}, {name, write(t, "none.pcap", pcapFile(1))}} {
		f := open(t, Options{Filter: "arp"}, names...)
		got := samples(t, f)
		if len(got) != 2 || got[0].Number != 2 || got[1].Number != 4 || got[0].Data != arp {
			t.Errorf("got %+v", got)
		}
		if i := f.Info(); i.Counters.Packets != 2 || i.Files[0].Frames != 4 {
			t.Errorf("packets %d of %d", i.Counters.Packets, i.Files[0].Frames)
		}
	}
	if o, _ := readAll(t, Options{Filter: "arp", MaxPackets: 1}, name); o.packets != 1 {
		t.Errorf("limited: %d packets", o.packets)
	}
	if o, _ := readAll(t, Options{Filter: "tcp", BatchBytes: 100}, name, name); o.packets != 0 || o.err != nil {
		t.Errorf("nothing matches: %+v", o)
	}
}

func TestABadFilterIsToldBeforeReading(t *testing.T) {
	t.Parallel()
	name := write(t, "x.pcap", pcapFile(1))
	for _, text := range []string{"prot 80", "host 1.2.3.4.5.6", "port http or"} {
		_, err := Open(t.Context(), []string{name}, Options{Filter: text})
		var wrong *FilterError
		if !errors.As(err, &wrong) || wrong.Filter != text || wrong.Reason == "" {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func TestAFilterWithoutMeaningOnALinkTypeIsTold(t *testing.T) {
	t.Parallel()
	raw := write(t, "raw.pcap", pcapFile(uint32(packet.LinkRaw), sample{Data: "E"}))
	o, _ := readAll(t, Options{Filter: "ether host 00:00:00:00:00:01"}, raw)
	var wrong *FilterError
	if !errors.As(o.err, &wrong) || wrong.Link != packet.LinkRaw || o.packets != 0 {
		t.Errorf("nothing but raw IP: %+v", o)
	}
	ether := write(t, "ether.pcap", pcapFile(1, sample{Data: strings.Repeat("\x00", 5) + "\x01" + strings.Repeat("\x00", 54)}))
	o, i := readAll(t, Options{Filter: "ether host 00:00:00:00:00:01"}, raw, ether)
	if o.err != nil || o.packets != 1 || len(i.Unfit) != 1 {
		t.Errorf("raw IP and Ethernet: %+v, %v", o, i.Unfit)
	}
	wlan := write(t, "wlan.pcap", pcapFile(uint32(packet.LinkIEEE80211), sample{Data: "\x80\x00" + strings.Repeat("\x00", 34)}))
	if o, _ := readAll(t, Options{Filter: "wlan type mgt"}, wlan); o.err != nil || o.packets != 1 {
		t.Errorf("802.11 words on 802.11: %+v", o)
	}
}

// TestFiltersAgreeWithTcpdump counts on captures of several link types.
func TestFiltersAgreeWithTcpdump(t *testing.T) {
	t.Parallel()
	tcpdump, err := exec.LookPath("tcpdump")
	if err != nil {
		t.Skip("tcpdump is not installed")
	}
	files, err := filepath.Glob(filepath.Join(shared(t, "corpus"), "*.pcap*"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[packet.LinkType]int{}
	for _, file := range files {
		_, i := readAll(t, Options{}, file)
		if len(i.Interfaces) != 1 { // libpcap refuses mixed ones
			continue
		}
		link := i.Interfaces[0].Link
		if seen[link]++; seen[link] > 3 {
			continue
		}
		for _, filter := range []string{"tcp port 80 or udp port 53", "greater 500", "ip6 or vlan", "tcp[tcpflags] & tcp-rst != 0"} {
			out, err := exec.CommandContext(t.Context(), tcpdump, "-n", "-r", file, "--count", filter).Output()
			if err != nil {
				continue // no meaning on this link type
			}
			count, _, _ := bytes.Cut(out, []byte(" "))
			want, err := strconv.ParseUint(string(count), 10, 64)
			if err != nil {
				t.Fatalf("tcpdump says %q", out)
			}
			if o, _ := readAll(t, Options{Filter: filter}, file); o.packets != want {
				t.Errorf("%s, link type %s: %q matches %d, tcpdump %d", filepath.Base(file), link.Name(), filter, o.packets, want)
			}
		}
	}
	t.Log(seen)
}
