package dns

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/prototest"
)

const (
	up   = flow.ToServer
	down = flow.ToClient
	flQ  = 0x0100 // query, RD
	flR  = 0x8180 // response, RD RA
)

// rr is one record; the name is a pointer to the question unless given.
type rr struct {
	name []byte
	typ  uint16
	data []byte
}

func wire(name string) []byte {
	var out []byte
	for l := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		if l != "" {
			out = append(append(out, byte(len(l))), l...)
		}
	}
	return append(out, 0)
}

func msg(id, flags uint16, name string, typ uint16, answers ...rr) []byte {
	b := binary.BigEndian.AppendUint16(nil, id)
	b = binary.BigEndian.AppendUint16(b, flags)
	b = append(b, 0, 1, 0, byte(len(answers)), 0, 0, 0, 0)
	b = append(b, wire(name)...)
	b = binary.BigEndian.AppendUint16(b, typ)
	b = append(b, 0, 1)
	for _, a := range answers {
		if a.name == nil {
			a.name = []byte{0xc0, 12}
		}
		b = append(b, a.name...)
		b = binary.BigEndian.AppendUint16(b, a.typ)
		b = append(b, 0, 1, 0, 0, 0, 60)
		b = binary.BigEndian.AppendUint16(b, uint16(len(a.data)))
		b = append(b, a.data...)
	}
	return b
}

func a4(s string) rr { return rr{typ: typeA, data: netip.MustParseAddr(s).AsSlice()} }

func udp() *prototest.Conversation { return prototest.New(Spec(), proto.UDP, 53) }

func tcp() *prototest.Conversation {
	c := prototest.New(TCP(), proto.TCP, 53)
	c.Rec.Declare(Spec().Codes...)
	return c
}

func framed(b []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...)
}

func TestLookups(t *testing.T) {
	t.Parallel()
	const name = "www.Example.com"
	q := msg(7, flQ, name, typeA)
	for _, c := range []struct {
		what  string
		steps []prototest.Step
		codes []string
		rcode string // key counted; "": none
		ended string // code of the last exchange; "-": there is none
	}{
		{
			"answered",
			[]prototest.Step{{Dir: up, B: q}, {Dir: down, At: 20 * time.Millisecond, B: msg(7, flR, name, typeA, a4("192.0.2.1"))}},
			nil, "0", "NOERROR",
		},
		{
			"no such name",
			[]prototest.Step{{Dir: up, B: q}, {Dir: down, At: time.Millisecond, B: msg(7, flR|3, name, typeA)}},
			[]string{"dns.nxdomain"},
			"3", "NXDOMAIN",
		},
		{
			"server failure after two tries",
			[]prototest.Step{{Dir: up, B: q}, {Dir: up, At: 5 * time.Second, B: q}, {Dir: down, At: 6 * time.Second, B: msg(7, flR|2, name, typeA)}},
			[]string{"dns.retransmission", "dns.servfail", "dns.slow-answer"},
			"2", "SERVFAIL",
		},
		{
			"first query lost",
			[]prototest.Step{{Dir: up, B: q}, {Dir: up, At: 5 * time.Second, B: q}, {Dir: down, At: 5020 * time.Millisecond, B: msg(7, flR, name, typeA, a4("192.0.2.1"))}},
			[]string{"dns.retransmission"},
			"0", "NOERROR",
		},
		{
			"refused",
			[]prototest.Step{{Dir: up, B: q}, {Dir: down, B: msg(7, flR|5, name, typeA)}},
			[]string{"dns.refused"},
			"5", "REFUSED",
		},
		{
			"format error without question",
			[]prototest.Step{{Dir: up, B: q}, {Dir: down, B: []byte{0, 7, 0x80, 1, 0, 0, 0, 0, 0, 0, 0, 0}}},
			[]string{"dns.error-code"},
			"1", "FORMERR",
		},
		{
			"truncated",
			[]prototest.Step{{Dir: up, B: q}, {Dir: down, B: msg(7, flR|0x200, name, typeA)}},
			[]string{"dns.truncated"},
			"0", "NOERROR",
		},
		{
			"silence",
			[]prototest.Step{{Dir: up, B: q}, {Dir: up, At: 5 * time.Second, B: q}},
			[]string{"dns.retransmission", "dns.no-answer"},
			"", "",
		},
		{"capture ends at once", []prototest.Step{{Dir: up, B: q}}, nil, "", "-"},
		{"frame seen twice", []prototest.Step{{Dir: up, B: q}, {Dir: up, At: time.Microsecond, B: q}}, nil, "", "-"},
		{
			"forged answer first",
			[]prototest.Step{
				{Dir: up, B: q},
				{Dir: down, At: time.Millisecond, B: msg(7, flR, name, typeA, a4("203.0.113.66"))},
				{Dir: down, At: 30 * time.Millisecond, B: msg(7, flR, name, typeA, a4("192.0.2.1"))},
			},
			[]string{"dns.different-answers"},
			"0", "NOERROR",
		},
		{
			"same answer twice in another order",
			[]prototest.Step{
				{Dir: up, B: q},
				{Dir: down, B: msg(7, flR, name, typeA, a4("192.0.2.2"), a4("192.0.2.1"))},
				{Dir: down, B: msg(7, flR, name, typeA, a4("192.0.2.1"), a4("192.0.2.2"))},
			},
			[]string{"dns.duplicate-answer"},
			"0", "NOERROR",
		},
		{
			"two queries, two rotated answers",
			[]prototest.Step{
				{Dir: up, B: q},
				{Dir: up, At: time.Second, B: q},
				{Dir: down, At: 1100 * time.Millisecond, B: msg(7, flR, name, typeA, a4("192.0.2.2"))},
				{Dir: down, At: 1200 * time.Millisecond, B: msg(7, flR, name, typeA, a4("192.0.2.9"))},
			},
			[]string{"dns.retransmission", "dns.slow-answer"},
			"0", "NOERROR",
		},
		{
			"wrong id",
			[]prototest.Step{{Dir: up, B: q}, {Dir: down, B: msg(8, flR, name, typeA, a4("192.0.2.2"))}},
			[]string{"dns.unsolicited-answer"},
			"0", "-",
		},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			got := prototest.Run(t, udp(), c.steps, proto.Over)
			if !slices.Equal(got.Rec.Codes(), c.codes) && len(got.Rec.Codes())+len(c.codes) > 0 {
				t.Errorf("codes: got %v, want %v", got.Rec.Codes(), c.codes)
			}
			if n := got.Rec.Counts[proto.DNSRcode][c.rcode]; (n > 0) != (c.rcode != "") {
				t.Errorf("rcodes counted: %v, want %q", got.Rec.Counts[proto.DNSRcode], c.rcode)
			}
			ended := "-"
			for i := range got.Rec.Exchanges {
				ended = got.Rec.Exchanges[i].Code
			}
			if ended != c.ended {
				t.Errorf("ended with %q, want %q", ended, c.ended)
			}
		})
	}
}

func TestForgedAnswerTellsBoth(t *testing.T) {
	t.Parallel()
	c := udp()
	c.Send(up, 0, msg(7, flQ, "a.test", typeA)).
		Send(down, time.Millisecond, msg(7, flR, "a.test", typeA, a4("203.0.113.66"))).
		Send(down, 31*time.Millisecond, msg(7, flR, "a.test", typeA, a4("192.0.2.1")))
	r := c.Rec.Find(DifferentAnswers)
	if r == nil {
		t.Fatal("not reported")
	}
	if r.Text("first_answer") != "203.0.113.66" || r.Text("second_answer") != "192.0.2.1" || r.Num("apart_ms") != 30 {
		t.Errorf("got %s", r)
	}
}

func TestExchangeAndLookupTimes(t *testing.T) {
	t.Parallel()
	c := udp()
	c.Send(up, time.Second, msg(7, flQ, "a.test", typeAAAA)).
		Send(down, 1500*time.Millisecond, msg(7, flR, "a.test", typeAAAA,
			rr{typ: typeCNAME, data: wire("b.test")}, rr{typ: typeAAAA, data: netip.MustParseAddr("2001:db8::1").AsSlice()}))
	if len(c.Rec.Exchanges) != 1 {
		t.Fatalf("exchanges: %+v", c.Rec.Exchanges)
	}
	x := c.Rec.Exchanges[0]
	if x.Label != "AAAA a.test" || x.Code != "NOERROR" || x.Failed || !x.Complete ||
		x.ReqStart != prototest.Epoch+int64(time.Second) || x.RespEnd-x.ReqStart != int64(500*time.Millisecond) ||
		x.ReqFrame != 1 || x.RespFrame != 2 {
		t.Errorf("exchange: %+v", x)
	}
	l, ok := c.Rec.Events[1].(*Lookup)
	if !ok || l.Waited != int64(500*time.Millisecond) || len(l.Addrs) != 1 || l.Addrs[0] != netip.MustParseAddr("2001:db8::1") {
		t.Errorf("lookup: %+v", l)
	}
}

// The direction may be guessed wrong (port 53 to port 53): the QR bit decides.
func TestAnswerFromClientSide(t *testing.T) {
	t.Parallel()
	c := udp()
	c.Client, c.Server = c.Server, c.Client
	c.Send(up, 0, msg(7, flR, "a.test", typeA, a4("192.0.2.1")))
	l, ok := c.Rec.Events[0].(*Lookup)
	if !ok || l.Client != c.Server.Addr() || l.Start != 0 {
		t.Errorf("got %+v", c.Rec.Events)
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	steps := []prototest.Step{
		{Dir: up, B: slices.Concat(framed(msg(1, flQ, "one.test", typeA)), framed(msg(2, flQ, "two.test", typeA)))},
		{Dir: down, At: time.Millisecond, B: slices.Concat(framed(msg(2, flR|3, "two.test", typeA)), framed(msg(1, flR, "one.test", typeA, a4("192.0.2.1"))))},
	}
	c := prototest.Run(t, tcp(), steps, proto.Closed)
	if len(c.Rec.Exchanges) != 2 || c.Rec.Exchanges[0].Label != "A two.test" {
		t.Fatalf("exchanges: %+v", c.Rec.Exchanges)
	}
	prototest.EveryCut(t, tcp, steps)
	prototest.EveryPrefix(t, tcp, steps)
}

// After a hole the next message that begins with a segment is read again.
func TestStreamAfterGap(t *testing.T) {
	t.Parallel()
	c := tcp()
	c.Send(up, 0, framed(msg(1, flQ, "one.test", typeA))[:9])
	c.Gap(up, 0, 40)
	c.Send(up, 0, []byte("tail of a message that was lost"))
	c.Send(down, 0, framed(msg(1, flR, "one.test", typeA, a4("192.0.2.1"))))
	c.Send(up, 0, framed(msg(2, flQ, "two.test", typeA)))
	c.Send(down, 0, framed(msg(2, flR, "two.test", typeA, a4("192.0.2.1"))))
	if n := c.Rec.Counts[proto.DNSRcode]["0"]; n != 2 || len(c.Rec.Exchanges) != 1 || len(c.Rec.Bad) != 0 {
		t.Errorf("answers %d, exchanges %d, malformed %v", n, len(c.Rec.Exchanges), c.Rec.Bad)
	}
}

// The longest message is longer than what a socket keeps.
func TestStreamLongestMessage(t *testing.T) {
	t.Parallel()
	big := msg(1, flR, "one.test", 251)
	big = append(big, make([]byte, 0xffff-len(big))...)
	c := tcp()
	c.Send(up, 0, framed(msg(1, flQ, "one.test", 251)))
	for part := range slices.Chunk(framed(big), 1400) {
		c.Send(down, 0, part)
	}
	c.Send(down, 0, framed(msg(1, flR|3, "one.test", 251)))
	if c.Err != nil || c.Rec.Counts[proto.DNSRcode]["0"] != 1 || c.Rec.Counts[proto.DNSRcode]["3"] != 1 {
		t.Errorf("err %v, counts %v", c.Err, c.Rec.Counts[proto.DNSRcode])
	}
}

func TestHostileNames(t *testing.T) {
	t.Parallel()
	head := []byte{0, 1, 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}
	for _, c := range []struct {
		what string
		name []byte
		bad  fault
	}{
		{"pointer to itself", []byte{0xc0, 12}, faultPointer},
		{"pointer forward", []byte{0xc0, 40}, faultPointer},
		{"pointer into the header", []byte{0xc0, 2}, faultPointer},
		{"two labels that point at each other", []byte{1, 'a', 0xc0, 12}, faultPointer},
		{"half a pointer", []byte{0xc0}, faultName},
		{"label past the end", []byte{20, 'a'}, faultName},
		{"extended label", []byte{0x41, 'a', 0}, faultLabel},
		{"too long", slices.Concat(slices.Repeat(append([]byte{63}, make([]byte, 63)...), 4), []byte{0}), faultNameLong},
	} {
		var m reading
		m.read(slices.Concat(head, c.name))
		if m.bad != c.bad {
			t.Errorf("%s: got %q, want %q", c.what, m.bad, c.bad)
		}
	}
}

func TestNamesKeepTheirBytes(t *testing.T) {
	t.Parallel()
	b := []byte{0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 5, 'A', '.', '\\', 0xff, 0, 2, 'd', 'e', 0, 0, 1, 0, 1}
	var m reading
	m.read(b)
	if got, want := string(m.name()), "a\\.\\\\\xff\x00.de"; got != want || m.bad != "" {
		t.Errorf("got %q (%s), want %q", got, m.bad, want)
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what string
		b    []byte
		want proto.Verdict
	}{
		{"query", msg(1, flQ, "a.test", typeA), proto.Certain},
		{"answer", msg(1, flR, "a.test", typeA, a4("192.0.2.1")), proto.Certain},
		{"cut by the snaplen", msg(1, flR, "a.test", typeA, a4("192.0.2.1"))[:30], proto.Likely},
		{"cut inside the name", msg(1, flQ, "a-long-name.test", typeA)[:20], proto.Likely},
		{"error without question", []byte{0, 1, 0x80, 1, 0, 0, 0, 0, 0, 0, 0, 0}, proto.Likely},
		{"zeros", make([]byte, 40), proto.No},
		{"text", []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), proto.No},
		{"NTP", append([]byte{0x23, 2, 6, 0xe8, 0, 0, 3, 0xff, 0, 0, 3, 0x7d}, make([]byte, 36)...), proto.No},
		{"short", []byte{1, 2, 3}, proto.No},
	} {
		if got := probeDatagram(up, c.b); got != c.want {
			t.Errorf("%s: got %d, want %d", c.what, got, c.want)
		}
	}
}

func TestParseAllocatesNothing(t *testing.T) {
	b := msg(1, flR, "www.example.com", typeA, rr{typ: typeCNAME, data: wire("x.test")}, a4("192.0.2.1"), a4("192.0.2.2"))
	if n := testing.AllocsPerRun(100, func() {
		var m reading
		m.read(b)
		if m.bad != "" || m.addrs != 2 {
			t.Errorf("bad %q, addresses %d", m.bad, m.addrs)
		}
	}); n != 0 {
		t.Errorf("%v allocations a message", n)
	}
}

func FuzzDatagram(f *testing.F) {
	f.Add(msg(1, flR, "www.example.com", typeA, a4("192.0.2.1"), rr{typ: typeTXT, data: []byte("\x03abc")}))
	f.Add(msg(1, flQ, "www.example.com", typeHTTPS))
	f.Add(msg(1, flR, "x.test", typeSOA, rr{typ: typeSOA, data: append(slices.Concat(wire("a"), wire("b")), make([]byte, 20)...)}))
	f.Fuzz(func(t *testing.T, b []byte) {
		probeDatagram(up, b)
		c := udp()
		c.Send(up, 0, b).Send(down, time.Second, b).Send(down, 2*time.Second, b).End(3*time.Second, proto.Over)
		if len(c.Rec.Faults) > 0 {
			t.Error(c.Rec.Faults)
		}
	})
}

func FuzzStream(f *testing.F) {
	f.Add(prototest.Seed([]prototest.Step{
		{Dir: up, B: framed(msg(1, flQ, "one.test", typeA))},
		{Dir: down, B: framed(msg(1, flR, "one.test", typeA, a4("192.0.2.1")))},
	}))
	f.Fuzz(func(t *testing.T, b []byte) { prototest.Hostile(t, tcp(), b) })
}

func BenchmarkParse(b *testing.B) {
	raw := msg(1, flR, "www.example.com", typeA, rr{typ: typeCNAME, data: wire("x.test")}, a4("192.0.2.1"), a4("192.0.2.2"))
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		var m reading
		m.read(raw)
	}
}
