package rules_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestCrafted makes the captures of fixtures/crafted from the scripts in
// testdata/crafted and compares them with what is there; -update writes them. They
// show causes of software that the lab has not.
//
// A script is one of these a line:
//
//	tcp CLIENT SERVER     a connection with its handshake; a third word: without one
//	udp CLIENT SERVER     a conversation; what follows belongs to the latest
//	> TEXT                the client sends a line; "<" the server. A quoted TEXT has no line end
//	>x HEX...             bytes: ab, ab*9 for nine of them, 'text'
//	>fin >rst >syn        a segment of these flags
//	mark                  the next packet has met congestion (ECN)
//	wait DURATION
//	ip PROTO SRC DST HEX  a packet of another protocol
//	eth DST SRC HEX       a frame: type or length and what follows
//	wlan HEX              a frame of IEEE 802.11; a capture of these has no others
//	step DURATION         the pause after each packet from here on
//	repeat N ... end      the lines between, N times; @d is the round, from 1, @x two
//	                      hexadecimal digits of it
func TestCrafted(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob(filepath.Join("testdata", "crafted", "*.txt"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, path := range scripts {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c := newCraft()
		lines, err := unroll(text)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, line := range lines {
			if err := c.line(line); err != nil {
				t.Fatalf("%s: %s: %v", path, line, err)
			}
		}
		out := filepath.Join("..", "fixtures", "crafted", strings.TrimSuffix(filepath.Base(path), ".txt")+".pcap")
		if *update {
			if err := os.WriteFile(out, c.file.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if have, err := os.ReadFile(out); err != nil || !bytes.Equal(have, c.file.Bytes()) {
			t.Errorf("%s is not what %s makes (-update writes it): %v", out, path, err)
		}
	}
}

// unroll writes out what is repeated.
func unroll(text []byte) (lines []string, err error) {
	var block []string
	rounds := 0
	sc := bufio.NewScanner(bytes.NewReader(text))
	for sc.Scan() {
		line := strings.TrimSpace(sc.Text())
		n, found := strings.CutPrefix(line, "repeat ")
		switch {
		case found:
			if rounds, err = strconv.Atoi(n); err != nil {
				return nil, err
			}
		case line == "end":
			for i := range rounds {
				round := strings.NewReplacer("@d", strconv.Itoa(i+1), "@x", fmt.Sprintf("%02x", (i+1)%256))
				for _, l := range block {
					lines = append(lines, round.Replace(l))
				}
			}
			block, rounds = nil, 0
		case rounds > 0:
			block = append(block, line)
		default:
			lines = append(lines, line)
		}
	}
	return lines, sc.Err()
}

// craft is a capture in the making.
type craft struct {
	file  bytes.Buffer
	now   time.Duration
	step  time.Duration
	talks map[string]*dialog
	cur   *dialog
	mark  bool
	id    uint16
}

// dialog is one conversation: its ends, client first.
type dialog struct {
	tcp  bool
	addr [2]netip.AddrPort
	seq  [2]uint32
}

// usualStep is the pause between two packets that the script does not space out.
const usualStep = 10 * time.Millisecond

func (c *craft) line(text string) error {
	text = strings.TrimSpace(text)
	word, rest, _ := strings.Cut(text, " ")
	rest = strings.TrimSpace(rest)
	switch {
	case text == "" || text[0] == '#':
		return nil
	case word == "tcp" || word == "udp":
		return c.open(word, strings.Fields(rest))
	case word == "wait":
		d, err := time.ParseDuration(rest)
		c.now += d
		return err
	case word == "step":
		d, err := time.ParseDuration(rest)
		c.step = d
		return err
	case word == "mark":
		c.mark = true
		return nil
	case word == "ip":
		return c.rawIP(strings.Fields(rest))
	case word == "eth":
		return c.rawFrame(strings.Fields(rest))
	case word == "wlan":
		b, err := unhex(strings.Fields(rest))
		c.file.Bytes()[linkTypeAt] = linkWLAN
		c.frame(b)
		return err
	case c.cur != nil && (word[0] == '>' || word[0] == '<'):
		return c.say(word, rest)
	}
	return fmt.Errorf("what is %q?", text)
}

func (c *craft) open(kind string, ends []string) error {
	key := kind + " " + strings.Join(ends, " ")
	if d := c.talks[key]; d != nil {
		c.cur = d
		return nil
	}
	if len(ends) < 2 {
		return fmt.Errorf("%s wants two ends", kind)
	}
	d := &dialog{tcp: kind == "tcp", seq: [2]uint32{1000, 5000}}
	for i := range d.addr {
		a, err := netip.ParseAddrPort(ends[i])
		if err != nil {
			return err
		}
		d.addr[i] = a
	}
	c.talks[key], c.cur = d, d
	if d.tcp && len(ends) == 2 { // a third word: no handshake
		c.segment(0, flagSYN, nil)
		c.segment(1, flagSYN|flagACK, nil)
		c.segment(0, flagACK, nil)
	}
	return nil
}

// say sends what the script has the client (>) or the server (<) send.
func (c *craft) say(word, rest string) error {
	from := strings.IndexByte("><", word[0])
	var data []byte
	var err error
	switch word[1:] {
	case "":
		data = []byte(rest + "\r\n")
		if strings.HasPrefix(rest, `"`) {
			var s string
			s, err = strconv.Unquote(rest)
			data = []byte(s)
		}
	case "x":
		data, err = unhex(strings.Fields(rest))
	default:
		flags, known := map[string]byte{"fin": flagFIN | flagACK, "rst": flagRST | flagACK, "syn": flagSYN, "ack": flagACK, "syn-ack": flagSYN | flagACK, "null": 0, "bare-fin": flagFIN}[word[1:]]
		if !known {
			return fmt.Errorf("no flags %q", word[1:])
		}
		c.segment(from, flags, nil)
		return nil
	}
	if err != nil {
		return err
	}
	if !c.cur.tcp {
		c.datagram(from, data)
		return nil
	}
	const mss = 1400
	for len(data) > 0 {
		n := min(len(data), mss)
		c.segment(from, flagPSH|flagACK, data[:n])
		data = data[n:]
	}
	c.now -= c.step - min(time.Millisecond, c.step) // the other end acknowledges at once
	c.segment(1-from, flagACK, nil)
	return nil
}

// unhex reads bytes: hexadecimal, one byte repeated (00*8), or 'text'.
func unhex(words []string) ([]byte, error) {
	var out []byte
	for _, w := range words {
		if text, ok := strings.CutPrefix(w, "'"); ok {
			out = append(out, strings.TrimSuffix(text, "'")...)
			continue
		}
		w, times, many := strings.Cut(w, "*")
		b, err := hex.DecodeString(w)
		if err != nil {
			return nil, err
		}
		n := 1
		if many {
			if n, err = strconv.Atoi(times); err != nil {
				return nil, err
			}
		}
		out = append(out, bytes.Repeat(b, n)...)
	}
	return out, nil
}
