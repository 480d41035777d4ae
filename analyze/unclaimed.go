package analyze

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"netwhy/analyze/decode"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/assigned"
	"netwhy/analyze/proto/http"
	"netwhy/analyze/tcp"
)

// unclaimed counts, by name, the frames whose payload no analyzer reads: by the
// port, the EtherType or, where those tell nothing, as data. A lane has one.
type unclaimed struct {
	*called

	given []uint64 // frames that were named here, by names: no more is ever taken back
}

// called is what payloads are called, for all lanes.
type called struct {
	ports *assigned.Ports
	lists [][]int // by the table's number, then data and what is on any port: names as names.index has them
	data  int     // number of the list that is data alone
	only  []int   // by that number plus 1: the name of any stream that has it, plus 1; 0: there is more to ask
	mptcp int     // name
	http  int     // name
}

// addUnclaimed numbers the names that need no analyzer.
func addUnclaimed(add func(name string)) {
	for _, list := range assigned.Names() {
		for name := range strings.FieldsSeq(list) {
			add(name)
		}
	}
	for _, name := range decode.EtherTypeNames() {
		add(name)
	}
	for _, name := range slices.Concat(assigned.SCTPNames(), assigned.InsideNames(), anyPorts()) {
		add(name)
	}
	add(assigned.JXTA)
	add(nameMPTCP)
}

const (
	nameMPTCP = "mptcp"
	nameHTTP  = "http"
)

func newCalled(n *names) *called {
	u := &called{ports: assigned.New(), mptcp: n.index[nameMPTCP], http: n.index[nameHTTP]}
	for _, list := range assigned.Names() {
		var numbers []int
		for name := range strings.FieldsSeq(list) {
			numbers = append(numbers, n.index[name])
		}
		u.lists = append(u.lists, numbers)
	}
	u.data = len(u.lists)
	u.lists = append(u.lists, []int{int(decode.Data)})
	for _, name := range anyPorts() {
		u.lists = append(u.lists, []int{n.index[name]})
	}
	u.only = make([]int, len(u.lists)+1)
	for i, list := range u.lists {
		if len(list) == 1 && (i == u.data || assigned.Plain(i)) {
			u.only[i+1] = list[0] + 1
		}
	}
	return u
}

// listed is the number of the list of names of a payload by its ports; sure tells
// that any payload between these ports has it.
func (u *called) listed(t assigned.Transport, a, b uint16, payload []byte) (n int, sure bool) {
	n, sure = u.ports.Number(t, a, b, payload)
	switch {
	case n != assigned.Unknown:
		return n, sure
	case t == assigned.UDP:
		return u.data + anyPort(payload), false
	}
	return u.data, sure
}

// anyPort recognises what Wireshark knows on any port of UDP; 0: it is not one of
// anyPorts.
func anyPort(b []byte) int {
	const (
		header, cookie  = 20, 0x2112a442 // STUN: a magic cookie, and its length (RFC 8489, 5)
		address, copies = 6, 16          // Wake-on-LAN: six bytes of ones, the address sixteen times
	)
	switch {
	case assigned.LooksRTCP(b):
		return 5
	case len(b) < header:
		return 0
	case b[0]>>6 == 0 && binary.BigEndian.Uint32(b[4:]) == cookie && int(binary.BigEndian.Uint16(b[2:]))+header == len(b):
		return 1
	case b[0] == 0xff && len(b) >= address*(copies+1) && string(b[:address]) == "\xff\xff\xff\xff\xff\xff" &&
		string(b[address:2*address]) == string(b[copies*address:(copies+1)*address]):
		return 2
	case string(b[:3]) == "d1:" && b[len(b)-1] == 'e':
		return 3
	case string(b[:4]) == "RTPS":
		return 4
	}
	return 0
}

// anyPorts are the names of what anyPort recognises.
func anyPorts() []string { return []string{"stun", "wol", "bt-dht", "rtps", assigned.RTCP} }

// give counts the frame at hand for the names of a list, and what is inside.
func (l *lane) give(list int, payload []byte) {
	for _, i := range l.unclaimed.lists[list] {
		l.giveOne(i)
	}
	if inside := assigned.Inside(list, payload); inside != "" {
		for name := range strings.FieldsSeq(inside) {
			l.giveOne(l.specs.names.index[name])
		}
	}
}

func (l *lane) giveOne(name int) {
	if name < int(decode.Protos) && l.pkt.Protos.Has(decode.Proto(name)) {
		return // the decoder has counted it
	}
	l.d.carry(name, l.frame.Number)
	l.unclaimed.given[name]++
}

// stale reports whether Wireshark reads nothing of a segment with such marks: its bytes
// came before, or too late, unless they were sent again fast.
func stale(m tcp.Marks) bool {
	return m&(tcp.Again|tcp.OutOfOrder) != 0 && m&tcp.FastRetransmission == 0
}

// ends tells an analyzer that wants to know of the end of one direction.
func (l *lane) ends(slot uint32, c *conversation, dir flow.Dir, m tcp.Marks) {
	if c.socket == 0 || stale(m) {
		return
	}
	k := l.sockets[c.socket]
	if a, ok := k.analyzer.(proto.Finisher); ok {
		l.setScope(slot, c, k)
		a.Finish(&l.scope, dir)
	}
}

// nameSegment counts a segment whose payload nobody reads. As in Wireshark, bytes
// that came before and those out of order have no name, unless they were sent again
// fast, and neither has the reason that a RST may give.
func (l *lane) nameSegment(slot uint32, c *conversation, payload []byte, m tcp.Marks) {
	only := l.unclaimed.only[c.print[flow.ToClient]]
	if only != 0 && m == 0 && c.socket == 0 && c.rested == 0 && int(l.pkt.PayloadLen) == len(payload) &&
		!l.view.Astray && l.pkt.Flags&tcp.FlagRST == 0 {
		l.giveOne(only - 1) // nearly all
		return
	}
	if m&tcp.KeepAlive != 0 { // what it carries is of no message
		l.giveOne(int(decode.Data))
		return
	}
	cut := int(l.pkt.PayloadLen) > len(payload)
	if l.view.Astray && !stale(m) {
		l.astray(c)
	}
	if cut {
		c.flags |= cutOff
		l.cutCodes(payload, m)
	}
	if l.claimed(c) {
		if m&tcp.FastRetransmission != 0 || m&tcp.SpuriousRetransmission != 0 && cut {
			l.readAgain(slot, c, payload, false)
			if len(l.twins) > 0 {
				l.twice(slot, c, payload)
			}
		} else if c.flags&cutOff != 0 && l.prompt != l.frame.Number && !stale(m) && l.alone(c, cut) {
			l.readAgain(slot, c, payload, true)
		}
		return
	}
	if stale(m) || l.pkt.Flags&tcp.FlagRST != 0 {
		return
	}
	if k := l.sockets[c.socket]; k != nil && k.tunnelled() {
		l.carries(int(k.more.around), l.frame.Number)
		n, _ := l.unclaimed.listed(assigned.TCP, k.more.target, k.more.target, payload)
		l.giveStream(n, payload, cut)
		return
	}
	n := int(c.print[flow.ToClient]) - 1
	if n < 0 {
		var sure bool
		if n, sure = l.unclaimed.listed(assigned.TCP, l.pkt.SrcPort(), l.pkt.DstPort(), payload); sure {
			c.print[flow.ToClient] = uint32(n + 1)
		}
	}
	l.giveStream(n, payload, cut)
}

// alone reports whether Wireshark looks at a segment of a connection whose segments are
// cut though it lies behind a hole: it lets nothing wait that was cut, and is in no message of
// HTTP that another segment could be of.
func (l *lane) alone(c *conversation, cut bool) bool {
	k := l.sockets[c.socket]
	return k.spec.Again != nil && (cut || k.spec.Name == nameHTTP)
}

// giveStream counts bytes of a stream. Where Wireshark waits for the rest of a message
// it names only frames that were cut, whose rest will not come.
func (l *lane) giveStream(n int, payload []byte, cut bool) {
	if cut && n == l.unclaimed.data && assigned.LooksJXTA(payload) {
		l.giveOne(l.specs.names.index[assigned.JXTA])
		return
	}
	if assigned.Waits(n) {
		if !cut {
			return
		}
		if l.unclaimed.lists[n][0] == l.unclaimed.http && !isHTTP(payload) {
			l.setScope(0, nil, &l.nobody)
			http.Cut(&l.scope, payload)
			return
		}
	}
	l.give(n, payload)
}

// isHTTP recognises the head of a message.
func isHTTP(b []byte) bool {
	const version = "HTTP/1."
	line, _, _ := bytes.Cut(b, []byte{'\n'})
	return bytes.HasPrefix(line, []byte(version)) || bytes.Contains(line, []byte(" "+version))
}

// nameDatagram does so for a datagram.
func (l *lane) nameDatagram(c *conversation) {
	l.unreadCode(c)
	if l.claimed(c) {
		return
	}
	if b := l.pkt.Data(l.raw); len(b) > 0 {
		n, _ := l.unclaimed.listed(assigned.UDP, l.pkt.SrcPort(), l.pkt.DstPort(), b)
		l.give(n, b)
	}
}

// claimed reports whether an analyzer reads a conversation, or did until it met
// what it could not read.
func (l *lane) claimed(c *conversation) bool {
	if c.socket == 0 {
		return c.rested != 0
	}
	k := l.sockets[c.socket]
	if k.foreign {
		return false
	}
	if k.analyzer == nil && k.spec != nil {
		l.carries(int(k.name), l.frame.Number)
	}
	return k.analyzer != nil || k.spec != nil || k.more != nil && k.more.became == l.frame.Number
}

// readAgain counts a segment that was sent again fast, or in vain and cut: Wireshark takes it
// for a new one, and so reads what is whole in it once more. held tells that it waits for
// bytes before it.
func (l *lane) readAgain(slot uint32, c *conversation, payload []byte, held bool) {
	k := l.sockets[c.socket]
	if k.analyzer == nil {
		return
	}
	if k.spec.Again == nil {
		l.carries(int(k.name), l.frame.Number)
		return
	}
	l.setScope(slot, c, k)
	l.scope.Held = held
	k.spec.Again(&l.scope, l.seg.Dir, payload)
}

// takeBack is told that somebody recognised what had waited: the segments before
// that at hand were named as if nobody would.
func (l *lane) takeBack(c *conversation, k *socket) {
	for dir, h := range k.half {
		if h == nil || len(h.pending) == 0 || l.frame == nil {
			continue
		}
		frames := 0
		if h.began.frame != l.frame.Number {
			frames++
		}
		for _, m := range h.at {
			if m.frame != l.frame.Number {
				frames++
			}
		}
		if frames == 0 {
			continue
		}
		a, b := k.ports(c)
		list, _ := l.unclaimed.listed(assigned.TCP, a, b, k.waiting(flow.Dir(dir)))
		if assigned.Waits(list) {
			continue
		}
		for _, i := range l.unclaimed.lists[list] {
			n := min(uint64(frames), l.unclaimed.given[i])
			l.d.add(i, -int64(n)) // what the other deltas have is greater
			l.unclaimed.given[i] -= n
		}
	}
}

// nameQuote counts what an ICMP error quotes beyond the transport header.
func (l *lane) nameQuote() {
	q := l.pkt.Quote()
	b, fragment := l.pkt.QuotePayload(l.raw[:l.pkt.End])
	if len(b) == 0 {
		return
	}
	if !fragment {
		l.quotedCodes(b)
	}
	n := l.unclaimed.data
	switch q.Proto {
	case flow.TCP:
		n, _ = l.unclaimed.listed(assigned.TCP, q.Key.PortA, q.Key.PortB, b)
		l.giveStream(n, b, true)
		return
	case flow.UDP:
		n, _ = l.unclaimed.listed(assigned.UDP, q.Key.PortA, q.Key.PortB, b)
	}
	l.give(n, b)
}

// nameMessage counts a frame that is known by its EtherType only.
func (l *lane) nameMessage(carrier proto.Transport, number uint16) {
	if carrier != proto.Link || l.pkt.Err != decode.UnknownType {
		return
	}
	if name := decode.EtherTypeName(number); name != "" {
		l.giveOne(l.specs.names.index[name])
	}
}

// nameOptions counts a segment of Multipath TCP (RFC 8684, 3: option 30). Most
// options are time stamps alone.
func (l *lane) nameOptions(b []byte) {
	const end, nop, kind = 0, 1, 30
	for len(b) > 1 {
		switch b[0] {
		case end:
			return
		case nop:
			b = b[1:]
			continue
		case kind:
			l.d.carry(l.unclaimed.mptcp, l.frame.Number)
			return
		}
		n := int(b[1])
		if n < 2 || n > len(b) {
			return
		}
		b = b[n:]
	}
}
