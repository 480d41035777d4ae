package correlate

import (
	"net/netip"
	"testing"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/hosts"
	"netwhy/analyze/proto"
)

// told plays events and conversations, one a frame, and returns the findings'
// codes with how often each was said.
func told(t *testing.T, spec Spec, steps ...any) map[finding.Code]int {
	t.Helper()
	codes, declared := map[finding.Code]int{}, map[finding.Code]int{}
	for _, d := range spec.Codes {
		declared[d.Code] = len(d.Metrics)
	}
	o := &Out{Emit: func(f finding.Finding) {
		if n, ok := declared[f.Code]; !ok || n != len(f.Values) || f.Evidence.Count == 0 {
			t.Errorf("%s: declared %v, %d values of %d, %d times seen", f.Code, ok, len(f.Values), n, f.Evidence.Count)
		}
		codes[f.Code]++
	}, Hosts: &hosts.Numbers{}}
	c := spec.New()
	for i, s := range steps {
		frame, at := uint64(i+1), int64(i)*second/10
		switch b := s.(type) {
		case *conn.Summary:
			if b.Start == 0 {
				b.First, b.Last, b.Start, b.Stop = frame, frame, at, at
			}
			if r, ok := c.(Reader); ok {
				r.Conn(o, &Folded{Summary: b, From: o.Hosts.Of(b.Client.Addr.Addr()), To: o.Hosts.Of(b.Server.Addr.Addr())})
			}
		default:
			if l, ok := c.(Listener); ok {
				l.Event(o, &proto.Event{Frame: frame, Time: at, Body: b})
			}
		}
	}
	c.End(o)
	return codes
}

func expect(t *testing.T, got map[finding.Code]int, want ...finding.Code) {
	t.Helper()
	n := 0
	for _, code := range want {
		n += got[code]
		if got[code] == 0 {
			t.Errorf("no %s among %v", code, got)
		}
	}
	for code, times := range got {
		if n -= times; n < 0 {
			t.Errorf("unexpected among %v, e.g. %s", got, code)
			return
		}
	}
}

func lease(op proto.LeaseOp, client byte, server, router string) *proto.Lease {
	l := &proto.Lease{Op: op, Client: [6]byte{2, 0, 0, 0, 0, client}, SrcMAC: [6]byte{2, 0, 0, 0, 0, client}}
	if server != "" {
		l.Server, l.Router = netip.MustParseAddr(server), netip.MustParseAddr(router)
		l.Address = netip.MustParseAddr("192.0.2.77")
		l.SrcMAC = [6]byte{2, 0, 0, 0, 1, 0}
	}
	return l
}

func TestLeases(t *testing.T) {
	t.Parallel()
	const a, b, gw, other = "192.0.2.1", "192.0.2.2", "192.0.2.254", "192.0.2.253"
	ask := func() *proto.Lease { return lease(proto.LeaseDiscover, 1, "", "") }
	dora := []any{ask(), lease(proto.LeaseOffer, 1, a, gw), lease(proto.LeaseRequest, 1, "", ""), lease(proto.LeaseAck, 1, a, gw)}
	many := []any{}
	for i := range byte(20) {
		many = append(many, lease(proto.LeaseDiscover, i, "", ""), lease(proto.LeaseOffer, i, a, gw), lease(proto.LeaseRequest, i, "", ""), lease(proto.LeaseAck, i, a, gw))
	}
	for _, c := range []struct {
		name  string
		steps []any
		want  []finding.Code
	}{
		{"healthy", dora, nil},
		{"asked once at the end of the capture", []any{ask()}, nil},
		{"no offer", []any{ask(), ask(), ask()}, []finding.Code{LeaseNoOffer}},
		{"offered late", append([]any{ask(), ask()}, dora...), nil},
		{"offers not taken", []any{ask(), lease(proto.LeaseOffer, 1, a, gw), ask(), lease(proto.LeaseOffer, 1, a, gw), ask(), lease(proto.LeaseOffer, 1, a, gw)}, []finding.Code{LeaseNoFinish}},
		{"refused", append([]any{lease(proto.LeaseRequest, 1, "", ""), lease(proto.LeaseNak, 1, a, gw)}, dora...), []finding.Code{LeaseRefused}},
		{"two servers", append([]any{ask(), lease(proto.LeaseOffer, 1, b, other)}, dora...), []finding.Code{LeaseTwoServers}},
		{"one after the other offers nothing", append([]any{lease(proto.LeaseAck, 9, b, other)}, dora...), nil},
		{"twenty new clients", many, []finding.Code{LeaseStarvation}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			expect(t, told(t, Leases(), c.steps...), c.want...)
		})
	}
}

func TestLogins(t *testing.T) {
	t.Parallel()
	try := func(user string, ok bool) *proto.Login {
		return &proto.Login{Protocol: "ftp", Client: netip.MustParseAddr("192.0.2.9"), Server: netip.MustParseAddrPort("192.0.2.1:21"), User: user, OK: ok}
	}
	expect(t, told(t, Logins(), try("a", false), try("a", false), try("a", false), try("a", true)))
	expect(t, told(t, Logins(), try("a", false), try("a", false), try("a", false), try("a", false), try("a", false)), LoginFailures)
	expect(t, told(t, Logins(), try("a", false), try("b", false), try("c", false), try("d", false), try("e", false)), LoginSpray)
	var people []any
	for range 20 { // a proxy or terminal server: many names, few slips
		people = append(people, try("p", true), try("q", true), try("r", true), try("s", true), try("t", true))
	}
	expect(t, told(t, Logins(), append(people, try("p", false), try("q", false), try("r", false))...))
}

func at(host byte, port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, host}), port)
}

func TestFloods(t *testing.T) {
	t.Parallel()
	var answers, polls, synAcks, spray []any
	for i := range byte(120) {
		answers = append(answers, &conn.Summary{
			ID: flow.ID{Proto: flow.UDP}, Client: conn.Side{Addr: at(1, 4000)}, Server: conn.Side{Addr: at(i+2, 161), Packets: 60, Bytes: 60000},
			First: uint64(i) + 1, Start: 1 + int64(i), Stop: second,
		})
		polls = append(polls, &conn.Summary{
			ID:     flow.ID{Proto: flow.UDP},
			Client: conn.Side{Addr: at(1, 4000), Packets: 9, Bytes: 900}, Server: conn.Side{Addr: at(i+2, 161), Packets: 9, Bytes: 9000},
		})
		synAcks = append(synAcks, &conn.Summary{
			ID: flow.ID{Proto: flow.TCP}, ClientKnown: true, Client: conn.Side{Addr: at(1, 4000)}, Server: conn.Side{Addr: at(i+2, 443), Packets: 2},
		})
		spray = append(spray, &conn.Summary{
			ID: flow.ID{Proto: flow.TCP}, SYNs: 1, ClientKnown: true, Client: conn.Side{Addr: at(i, 4000), Packets: 1}, Server: conn.Side{Addr: at(255-i, 80)},
			First: uint64(i) + 1, Start: 1 + int64(i), Stop: 1 + int64(i),
		})
	}
	flood := &conn.Summary{
		ID: flow.ID{Proto: flow.UDP}, Client: conn.Side{Addr: at(9, 4000), Packets: 50000}, Server: conn.Side{Addr: at(1, 9999)},
		First: 1, Start: 1, Stop: second,
	}
	media := &conn.Summary{
		ID: flow.ID{Proto: flow.UDP}, Client: conn.Side{Addr: at(9, 4000), Packets: 50000}, Server: conn.Side{Addr: at(1, 9999), Packets: 900},
		First: 1, Start: 1, Stop: second,
	}
	expect(t, told(t, Floods(), answers...), Reflection)
	expect(t, told(t, Floods(), polls...))
	expect(t, told(t, Floods(), synAcks...), SYNACKReflect)
	expect(t, told(t, Floods(), spray...), SYNSpray)
	expect(t, told(t, Floods(), flood), UDPFlood)
	expect(t, told(t, Floods(), media))
}

func TestChannels(t *testing.T) {
	t.Parallel()
	visit := func(start int64) *conn.Summary {
		return &conn.Summary{
			ID: flow.ID{Proto: flow.TCP}, SYNs: 1, Established: true, Client: conn.Side{Addr: at(1, 4000), Unique: 517}, Server: conn.Side{Addr: at(2, 443)},
			First: uint64(start), Start: start, Stop: start + 1,
		}
	}
	var timer, person []any
	pause := int64(1)
	for i := range int64(12) {
		timer = append(timer, visit(1+i*30*second+i%3*1000))
		pause = pause * 7 % 97
		person = append(person, visit(1+i*40*second+pause*second))
	}
	expect(t, told(t, Channels(), timer...), Beacon)
	expect(t, told(t, Channels(), person...))
	lost := &conn.Summary{
		ID: flow.ID{Proto: flow.TCP}, App: "bgp", End: conn.EndReset, Client: conn.Side{Addr: at(1, 4000), Bytes: 99}, Server: conn.Side{Addr: at(2, 179), Bytes: 99},
		First: 1, Last: 9, Start: 1, Stop: second,
	}
	expect(t, told(t, Channels(), lost), SessionEnded)
}

func TestFragments(t *testing.T) {
	t.Parallel()
	expect(t, told(t, Fragmented(), &Fragments{Fragments: 480, Whole: 79, Tiny: 401}))
	expect(t, told(t, Fragmented(), &Fragments{Fragments: 1248, Whole: 3, Tiny: 1245}), FragmentFlood)
	expect(t, told(t, Fragmented(), &Fragments{Fragments: 2, Conflicts: 1, Odd: true}), FragmentOverlap)
}

// TestLoneQuestions: one ARP request is told only where nobody was answered.
func TestLoneQuestions(t *testing.T) {
	t.Parallel()
	asks := func(host byte) *proto.Neighbour {
		return &proto.Neighbour{Op: proto.Asks, IP: at(host, 0).Addr(), From: at(9, 0).Addr(), By: [6]byte{2, 0, 0, 0, 0, 9}}
	}
	answer := &proto.Neighbour{Op: proto.Answers, IP: at(8, 0).Addr(), MAC: [6]byte{2, 0, 0, 0, 0, 8}, By: [6]byte{2, 0, 0, 0, 0, 8}, To: [6]byte{2, 0, 0, 0, 0, 9}}
	later := &conn.Summary{ID: flow.ID{Proto: flow.UDP}, Client: conn.Side{Addr: at(9, 137), Packets: 1}, Server: conn.Side{Addr: at(255, 137)}, First: 5, Start: 1, Stop: 9 * second}
	works := &conn.Summary{ID: flow.ID{Proto: flow.UDP}, Client: conn.Side{Addr: at(9, 137), Packets: 1}, Server: conn.Side{Addr: at(7, 53), Packets: 1}, First: 5, Start: 1, Stop: 9 * second}
	expect(t, told(t, Neighbours(), asks(1), later), NoNeighbour)
	expect(t, told(t, Neighbours(), asks(1)))
	expect(t, told(t, Neighbours(), asks(1), works))
	expect(t, told(t, Neighbours(), asks(1), asks(8), answer, later))
	expect(t, told(t, Neighbours(), asks(1), asks(2), asks(3), asks(4), later))
	offer := &proto.Lease{Op: proto.LeaseOffer, Address: at(1, 0).Addr()}
	expect(t, told(t, Neighbours(), asks(1), asks(1), asks(1), offer, later))
}
