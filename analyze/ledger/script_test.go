package ledger

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"netwhy/analyze/conn"
	"netwhy/analyze/decode"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/tcp"
)

// A script is a connection as a tap sees it, one segment a line or semicolon:
//
//	TIME c>s|s>c FLAGS [len=N] [seq=N] [ack=N] [win=N] [ttl=N] [id=N] [sack=A-B,...] [ts=V/E] [bad] [first=N]
//
// TIME is in ms. Flags are S, A, F, R, P in any mix ("-" for none). Sequence and
// acknowledgement numbers are relative to the first byte of payload, so that data
// begins at 0; left out, they go on where the side's last segment ended, and
// acknowledge all that the tap saw. A line that begins with # is a comment.
type segment struct {
	tcp.Segment
	bad bool
}

// sides holds what is left out in a script.
type sides struct {
	next [2]uint32
	seen [2]uint32
	id   [2]uint16
	win  [2]uint16
}

const isn = 4_000_000_000 // near the end of the sequence space, so that tests wrap

func script(tb testing.TB, text string) (out []segment) {
	tb.Helper()
	st := sides{win: [2]uint16{1000, 1000}, id: [2]uint16{100, 7000}}
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == ';' }) // comments hold no semicolon
	for _, line := range lines {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		if len(f) < 3 {
			tb.Fatalf("script: %q", line)
		}
		out = append(out, st.parse(tb, f))
		out[len(out)-1].Frame = uint64(len(out))
	}
	return out
}

func (st *sides) parse(tb testing.TB, f []string) segment {
	tb.Helper()
	ms, err := strconv.ParseFloat(f[0], 64)
	if err != nil {
		tb.Fatalf("script: time %q", f[0])
	}
	d := flow.ToServer
	if f[1] == "s>c" {
		d = flow.ToClient
	}
	s := segment{Segment: tcp.Segment{Time: 1e18 + int64(ms*1e6), Dir: d, TTL: 64, Window: st.win[d]}}
	if d == flow.ToClient {
		s.TTL = 60
	}
	for _, c := range f[2] {
		switch c {
		case 'S':
			s.Flags |= tcp.FlagSYN
		case 'A':
			s.Flags |= tcp.FlagACK
		case 'F':
			s.Flags |= tcp.FlagFIN
		case 'R':
			s.Flags |= tcp.FlagRST
		case 'P':
			s.Flags |= tcp.FlagPSH
		case '-':
		default:
			tb.Fatalf("script: flag %q", f[2])
		}
	}
	seq, ack := st.next[d], st.seen[d^1]
	id := -1
	var opts []byte
	if s.Flags&tcp.FlagSYN != 0 {
		opts = append(opts, kindMSS, 4, 0x05, 0xb4, kindScale, 3, 7, kindNop, kindSACKs, 2, kindNop, kindNop)
		s.Window = 64000
	}
	var first byte
	for _, arg := range f[3:] {
		k, v, _ := strings.Cut(arg, "=")
		n, _ := strconv.Atoi(v)
		switch k {
		case "len":
			s.Len = uint32(n)
		case "seq":
			seq = uint32(n)
		case "ack":
			ack = uint32(n)
		case "win":
			s.Window = uint16(n)
			st.win[d] = uint16(n)
		case "ttl":
			s.TTL = uint8(n)
		case "id":
			id = n
		case "first":
			first = byte(n)
		case "bad":
			s.bad = true
		case "plain": // a SYN without options
			opts = nil
		case "ts":
			a, b, _ := strings.Cut(v, "/")
			x, _ := strconv.Atoi(a)
			y, _ := strconv.Atoi(b)
			opts = append([]byte{kindNop, kindNop, kindStamp, 10}, opts...)
			var stamp [8]byte
			binary.BigEndian.PutUint32(stamp[:4], uint32(x))
			binary.BigEndian.PutUint32(stamp[4:], uint32(y))
			opts = append(opts[:4:4], append(stamp[:], opts[4:]...)...)
		case "sack":
			blocks := strings.Split(v, ",")
			opts = append(opts, kindNop, kindNop, kindSACK, byte(2+8*len(blocks)))
			for _, b := range blocks {
				from, to, _ := strings.Cut(b, "-")
				x, _ := strconv.Atoi(from)
				y, _ := strconv.Atoi(to)
				opts = binary.BigEndian.AppendUint32(opts, uint32(isn+1)+uint32(x))
				opts = binary.BigEndian.AppendUint32(opts, uint32(isn+1)+uint32(y))
			}
		default:
			tb.Fatalf("script: %q", arg)
		}
	}
	s.Options = opts
	s.Data = make([]byte, min(s.Len, 16))
	if len(s.Data) > 1 && first != 0 {
		s.Data[0], s.Data[1] = first, tlsMajor
	}
	s.Head = decode.HeadOf(s.Data)

	if id < 0 {
		st.id[d]++
		id = int(st.id[d])
	} else {
		st.id[d] = uint16(id)
	}
	s.IPID = uint16(id)
	s.WireLen = s.Len + 54
	if s.Flags&tcp.FlagSYN != 0 {
		s.Seq = isn
	} else {
		s.Seq = isn + 1 + seq
	}
	if s.Flags&tcp.FlagACK != 0 {
		s.Ack = isn + 1 + ack
	}
	end := seq + s.Len
	if s.Flags&tcp.FlagFIN != 0 {
		end++
	}
	if int32(end-st.next[d]) > 0 && s.Flags&(tcp.FlagRST|tcp.FlagSYN) == 0 {
		st.next[d] = end
		st.seen[d] = end
	}
	return s
}

// world runs segments through a tracker and the books.
type world struct {
	t     testing.TB
	books *Books
	track *tcp.Tracker
	ref   Ref
	conv  tcp.Ref
	found map[finding.Code]finding.Finding
	defs  map[finding.Code]finding.Def
	sum   conn.Summary
}

type deafHandler struct{}

func (deafHandler) Deliver(uint32, *tcp.Segment, []byte) {}
func (deafHandler) Gap(uint32, *tcp.Segment, uint32)     {}

func newWorld(tb testing.TB) *world {
	tb.Helper()
	w := &world{t: tb, found: map[finding.Code]finding.Finding{}, defs: map[finding.Code]finding.Def{}}
	for _, d := range Defs() {
		w.defs[d.Code] = d
	}
	w.books = New(Options{}, func(_ uint32, f finding.Finding) { w.found[f.Code] = f })
	w.track = tcp.NewTracker(tcp.Limits{}, deafHandler{})
	w.ref = w.books.Open(1, &flow.Key{Proto: flow.TCP}, true)
	w.conv = w.track.Open(1)
	return w
}

func (w *world) play(segs []segment) {
	var v tcp.View
	for i := range segs {
		s := &segs[i]
		m := w.track.Segment(w.conv, &s.Segment, &v)
		if s.bad {
			w.books.Checksum(w.ref, &s.Segment)
		}
		w.books.Segment(w.ref, &s.Segment, m, &v)
	}
}

func (w *world) close() {
	w.sum = conn.Summary{}
	w.books.Close(w.ref, proto.Over, &w.sum)
}

// played runs a script to its end.
func played(tb testing.TB, text string) *world {
	tb.Helper()
	w := newWorld(tb)
	w.play(script(tb, text))
	w.close()
	w.check()
	if *w.books.none != (rare{}) || *w.books.noTally != (tally{}) || *w.books.noMend != (mend{}) {
		tb.Error("trouble was noted where all talks look")
	}
	return w
}

// check holds for every connection.
func (w *world) check() {
	w.t.Helper()
	for code, f := range w.found {
		d, ok := w.defs[code]
		if !ok {
			w.t.Errorf("%s is not declared", code)
			continue
		}
		if len(f.Values) != len(d.Metrics) {
			w.t.Errorf("%s: %d values, %d metrics", code, len(f.Values), len(d.Metrics))
		}
		for i, m := range d.Metrics {
			if i < len(f.Values) && m.Text != (f.Values[i].Text != "") {
				w.t.Errorf("%s.%s: text %q", code, m.Name, f.Values[i].Text)
			}
		}
		if len(f.Evidence.Frames) == 0 || f.Evidence.Count == 0 || f.Evidence.First == 0 {
			w.t.Errorf("%s: no evidence: %+v", code, f.Evidence)
		}
	}
	if x := w.sum.Worst; x != nil {
		w.adds(&x.Ledger)
	}
	w.adds(&w.sum.Parts)
}

func (w *world) adds(l *conn.Ledger) {
	w.t.Helper()
	var sum int64
	for p, ns := range l.Part {
		if ns < 0 {
			w.t.Errorf("%s is %d ns", conn.PartNames[p], ns)
		}
		sum += ns
	}
	if sum != l.Total {
		w.t.Errorf("parts add up to %d, total is %d", sum, l.Total)
	}
}

// value returns a number of a finding.
func (w *world) value(code finding.Code, name string) float64 {
	w.t.Helper()
	f, ok := w.found[code]
	if !ok {
		w.t.Errorf("no %s; there is %s", code, w.codes())
		return 0
	}
	for i, m := range w.defs[code].Metrics {
		if m.Name == name {
			return f.Values[i].Num
		}
	}
	w.t.Errorf("%s has no %s", code, name)
	return 0
}

func (w *world) word(code finding.Code, name string) string {
	w.t.Helper()
	for i, m := range w.defs[code].Metrics {
		if m.Name == name && len(w.found[code].Values) > i {
			return w.found[code].Values[i].Text
		}
	}
	return ""
}

func (w *world) codes() string {
	var b strings.Builder
	for c, f := range w.found {
		fmt.Fprintf(&b, "%s(%s) ", c, f.Severity)
	}
	return b.String()
}

// ledgerText writes a ledger in ms, by part, rounded to 1 µs; parts of 0 are left out.
func ledgerText(l *conn.Ledger) string {
	var b strings.Builder
	for p, ns := range l.Part {
		if us := (ns + 500) / 1000; us != 0 {
			fmt.Fprintf(&b, "%s=%g ", conn.PartNames[p], float64(us)/1e3)
		}
	}
	return strings.TrimSpace(b.String())
}
