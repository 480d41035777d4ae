package tcp_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"netwhy/analyze/tcp"
)

// TestAgainstTshark makes captures of random segments, lets tshark judge them and
// compares every frame. It needs Debian's tshark: another version may judge in
// another way.
func TestAgainstTshark(t *testing.T) {
	t.Parallel()
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("no tshark here")
	}
	if v, err := exec.CommandContext(t.Context(), tshark, "-v").Output(); err != nil || !bytes.Contains(v, []byte(" 4.0.")) {
		t.Skip("this is not tshark 4.0")
	}
	for seed, wild := range []float64{0.1, 0.3, 0.7} {
		t.Run(fmt.Sprint("wild ", wild), func(t *testing.T) {
			t.Parallel()
			name := filepath.Join(t.TempDir(), "random.pcap")
			if err := os.WriteFile(name, randomCapture(uint64(seed), wild), 0o600); err != nil {
				t.Fatal(err)
			}
			want := tsharkMarks(t, tshark, name)
			f := newFollower(nobody{}, tcp.Limits{})
			frames, wrong := 0, map[int]bool{}
			f.each = func(c *follow, s *tcp.Segment, _ *tcp.View, m tcp.Marks) {
				frames++
				if w := want[s.Frame]; w != m && !wrong[c.number] {
					wrong[c.number] = true // what follows on this connection follows from that
					t.Errorf("frame %d, connection %d: %s, want %s", s.Frame, c.number, names(m), names(w))
				}
			}
			f.file(t, name)
			f.close()
			t.Logf("%d frames on %d connections", frames, f.count)
		})
	}
}

// tsharkMarks are tshark's, by frame.
func tsharkMarks(t *testing.T, tshark, name string) map[uint64]tcp.Marks {
	t.Helper()
	args := []string{"-n", "-r", name, "-T", "fields", "-e", "frame.number"}
	for _, c := range tcp.CounterNames[:len(tcp.CounterNames)-1] {
		args = append(args, "-e", "tcp.analysis."+c)
	}
	out, err := exec.CommandContext(t.Context(), tshark, append(args, "-e", "tcp.flags.reset")...).Output()
	if err != nil {
		t.Fatal(err)
	}
	marks := map[uint64]tcp.Marks{}
	for line := range strings.Lines(string(out)) {
		col := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		frame, err := strconv.ParseUint(col[0], 10, 64)
		if err != nil {
			t.Fatal(line, err)
		}
		for i, v := range col[1:] {
			if v != "" && v != "0" {
				marks[frame] |= 1 << i
			}
		}
	}
	return marks
}

// writer makes a pcap file of TCP segments.
type writer struct {
	bytes.Buffer
	now int64 // ns
	r   *rand.Rand
}

// talk is one random connection; index 0 is the client.
type talk struct {
	*writer
	port             uint16
	isn, next, acked [2]uint32
	win              [2]uint16
	scale            [2]int // -1: not offered
	sent             [2][][2]uint32
}

// randomCapture writes connections that follow the rules except for a share of
// segments given by wild.
func randomCapture(seed uint64, wild float64) []byte {
	const conns = 120
	w := &writer{now: 1_700_000_000_000_000_000, r: rand.New(rand.NewPCG(seed, 7))}
	for _, v := range []uint32{0xa1b23c4d, 4<<16 | 2, 0, 0, 65535, 1} {
		w.Write(binary.LittleEndian.AppendUint32(nil, v))
	}
	for i := range conns {
		(&talk{writer: w, port: uint16(20000 + i)}).run(wild)
	}
	return w.Bytes()
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func (c *talk) run(wild float64) {
	r := c.r
	for d := range 2 {
		c.isn[d] = r.Uint32()
		if r.IntN(10) == 0 {
			c.isn[d] = -uint32(r.IntN(2000))
		}
		c.next[d] = c.isn[d] + 1
		c.win[d] = pick[uint16](r, 300, 500, 1000, 65535)
		c.scale[d] = pick(r, -1, 0, 1, 7)
	}
	c.acked = [2]uint32{c.next[1], c.next[0]}
	switch n := r.IntN(8); {
	case n < 5:
		c.emit(0, c.isn[0], 0, tcp.FlagSYN, 0)
		c.emit(1, c.isn[1], c.next[0], tcp.FlagSYN|tcp.FlagACK, 0)
		c.emit(0, c.next[0], c.next[1], tcp.FlagACK, 0)
	case n == 5:
		c.emit(0, c.isn[0], 0, tcp.FlagSYN, 0)
	}
	for range 3 + r.IntN(60) {
		d := r.IntN(2)
		seq, acked, flags := c.next[d], c.next[d^1], uint16(tcp.FlagACK)
		n := pick[uint32](r, 0, 0, 1, 10, 100, 100, 100, 200)
		switch {
		case r.Float64() < wild:
			seq, acked, flags, n = c.odd(d, seq, acked, n)
		case r.IntN(5) == 0:
			acked = c.acked[d]
			n *= uint32(r.IntN(2))
		}
		c.emit(d, seq, acked, flags, n)
	}
	c.now += 10_000_000
}

// odd bends a segment of the rules.
func (c *talk) odd(d int, seq, acked uint32, n uint32) (uint32, uint32, uint16, uint32) {
	r, o, flags := c.r, d^1, uint16(tcp.FlagACK)
	switch r.IntN(13) {
	case 0:
		return seq - 1, acked, flags, pick[uint32](r, 0, 1, 1, 2)
	case 1:
		return seq - pick[uint32](r, 1, 10, 100, 200, 300), acked, flags, n
	case 2:
		if k := len(c.sent[d]); k > 0 {
			s := c.sent[d][max(k-1-r.IntN(8), 0)]
			return s[0], acked, flags, s[1]
		}
	case 3:
		return seq + pick[uint32](r, 1, 10, 100, 200), acked, flags, n
	case 4:
		return seq, acked + pick[uint32](r, 1, 10, 100), flags, n
	case 5:
		return seq, acked - pick[uint32](r, 1, 10, 100, 200), flags, n
	case 6:
		c.win[d] = pick[uint16](r, 0, 0, 100, 200, 300, 500, 1000)
	case 7:
		return seq, c.acked[d], flags, 0
	case 8:
		return c.acked[o], acked, flags, pick[uint32](r, 0, 1, 100, 200)
	case 9:
		flags |= tcp.FlagFIN
	case 10:
		flags = pick[uint16](r, tcp.FlagRST, tcp.FlagRST|tcp.FlagACK)
	case 11:
		flags = pick[uint16](r, tcp.FlagSYN, tcp.FlagSYN|tcp.FlagACK, tcp.FlagSYN|tcp.FlagRST)
		if seq = pick(r, c.isn[d], c.isn[d], c.isn[d], seq); r.IntN(3) > 0 {
			n = 0
		}
	case 12:
		c.now -= pick[int64](r, 1000, 5_000_000, 2_500_000_000)
	}
	return seq, acked, flags, n
}

// emit writes a segment and learns from it.
func (c *talk) emit(d int, seq, acked uint32, flags uint16, n uint32) {
	c.now += pick[int64](c.r, 0, 1000, 10_000, 100_000, 500_000, 1_000_000, 2_100_000, 2_900_000, 3_000_000,
		3_100_000, 7_000_000, 19_000_000, 20_000_000, 21_000_000, 250_000_000)
	var opt []byte
	if flags&tcp.FlagSYN != 0 {
		if opt = []byte{2, 4, 5, 180}; c.scale[d] >= 0 {
			opt = append(opt, 1, 3, 3, byte(c.scale[d]))
		}
	}
	if flags&tcp.FlagACK == 0 {
		acked = 0
	}
	ends := [2][4]byte{{10, 0, 0, 1}, {10, 0, 1, 1}}
	ports := [2]uint16{c.port, 40001}
	b := make([]byte, 12, 256)
	b = append(b, 8, 0, 0x45, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(40+len(opt))+uint16(n))
	b = append(b, 0, 0, 0x40, 0, 64, 6, 0, 0)
	b = append(append(b, ends[d][:]...), ends[d^1][:]...)
	b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, ports[d]), ports[d^1])
	b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, seq), acked)
	b = binary.BigEndian.AppendUint16(b, uint16(5+len(opt)/4)<<12|flags)
	b = binary.BigEndian.AppendUint16(b, c.win[d])
	b = append(append(b, 0, 0, 0, 0), opt...)
	b = append(b, make([]byte, n)...)
	for _, v := range []uint32{uint32(c.now / 1e9), uint32(c.now % 1e9), uint32(len(b)), uint32(len(b))} {
		c.Write(binary.LittleEndian.AppendUint32(nil, v))
	}
	c.Write(b)

	c.sent[d] = append(c.sent[d], [2]uint32{seq, n})
	end := seq + n
	if flags&(tcp.FlagSYN|tcp.FlagFIN) != 0 {
		end++
	}
	if int32(end-c.next[d]) > 0 {
		c.next[d] = end
	}
	if flags&tcp.FlagACK != 0 {
		c.acked[d] = acked
	}
}
