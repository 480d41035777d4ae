package decode_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"netwhy/analyze/decode"
	"netwhy/analyze/flow"
	"netwhy/capture/packet"
)

// shared returns a folder of the captures that are kept beside the repository.
func shared(tb testing.TB, folder string) string {
	tb.Helper()
	root := os.Getenv("NETWHY_SHARED")
	if root == "" {
		dir, err := os.Getwd()
		if err != nil {
			tb.Fatal(err)
		}
		for ; root == "" && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if at := filepath.Join(dir, "shared"); isDir(at) {
				root = at
			}
		}
	}
	at := filepath.Join(root, folder)
	if root == "" || !isDir(at) {
		if os.Getenv("CI") == "true" {
			tb.Fatalf("no captures %q: set NETWHY_SHARED to the folder that has them", folder)
		}
		tb.Skipf("no captures %q here; set NETWHY_SHARED to the folder that has them", folder)
	}
	return at
}

func isDir(name string) bool {
	st, err := os.Stat(name)
	return err == nil && st.IsDir()
}

// TestConversations counts distinct keys in every capture of the corpus.
func TestConversations(t *testing.T) {
	t.Parallel()
	dir := shared(t, "corpus")
	list, err := filepath.Glob(filepath.Join(dir, "truth", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	same := 0
	for _, name := range list {
		var truth struct {
			File string `json:"file"`
			TCP  int    `json:"tcp_conversations"`
			UDP  int    `json:"udp_conversations"`
			QT   int    `json:"tcp_streams_quoted_in_icmp"`
			QU   int    `json:"udp_streams_quoted_in_icmp"`
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &truth); err != nil {
			t.Fatal(name, err)
		}
		tcp, udp := countConversations(t, filepath.Join(dir, truth.File))
		if tcp == truth.TCP && udp == truth.UDP {
			same++
			continue
		}
		t.Errorf("%s: tcp %d want %d (quoted %d), udp %d want %d (quoted %d)", truth.File, tcp, truth.TCP, truth.QT, udp, truth.UDP, truth.QU)
	}
	t.Logf("%d of %d captures have Wireshark's number of conversations", same, len(list))
}

// countConversations counts as Wireshark's stream numbers do. Two of its habits
// are followed here only as far as the corpus needs them: a SYN with another
// sequence number begins a new tcp.stream, and SNMP's second datagram a new
// udp.stream.
func countConversations(t *testing.T, name string) (tcp, udp int) {
	t.Helper()
	type state struct {
		base [2]uint32 // sequence number of the first segment of A, B
		set  [2]bool
		snmp bool
	}
	seen := map[flow.Key]*state{}
	var def decode.Defragmenter
	each(t, name, func(f *packet.Frame, data []byte) {
		var p decode.Packet
		decode.Decode(f.Link, data, f.WireLen, &p)
		if p.Kind == decode.KindFragment {
			if w, ok := def.Add(f.Number, f.Time, data, &p); ok {
				data = w.Data
			}
		}
		count := func(k flow.Key) {
			if k.Proto == flow.TCP {
				tcp++
			} else {
				udp++
			}
		}
		for i := range int(p.NConvs) {
			c := p.Conv(i)
			if c.Quoted {
				continue
			}
			s := seen[c.Key]
			if s == nil {
				s = &state{}
				seen[c.Key] = s
				count(c.Key)
				s.snmp = isSNMP(&p, data)
			} else if s.snmp {
				s.snmp = false
				count(c.Key)
			}
			if p.Kind != decode.KindTCP || c.Key != p.Key {
				continue
			}
			dir := 0
			if !p.SrcIsA {
				dir = 1
			}
			const syn, ack = 2, 16
			if p.Flags&(syn|ack) == syn && s.set[dir] && s.base[dir] != p.Seq {
				count(c.Key)
				*s = state{}
			}
			if !s.set[dir] {
				s.base[dir], s.set[dir] = p.Seq, true
			}
		}
	})
	return tcp, udp
}

func isSNMP(p *decode.Packet, data []byte) bool {
	const agent, trap, sequence = 161, 162, 0x30
	if p.Kind != decode.KindUDP {
		return false
	}
	b := p.Data(data)
	return len(b) > 2 && b[0] == sequence &&
		(p.SrcPort() == agent || p.DstPort() == agent || p.SrcPort() == trap || p.DstPort() == trap)
}
