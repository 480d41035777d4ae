package run_test

import (
	"encoding/binary"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// craft makes a capture of raw IPv4 packets (LINKTYPE_RAW) that no real network
// had to carry: hostile texts, and more trouble than one network has.
type craft struct {
	buf []byte
	now time.Time
}

const (
	linkRaw  = 101
	protoTCP = 6
	protoUDP = 17
	flagFIN  = 0x01
	flagSYN  = 0x02
	flagPSH  = 0x08
	flagACK  = 0x10
)

func newCraft() *craft {
	c := &craft{now: time.Unix(1_700_000_000, 0)}
	for _, v := range []uint32{0xa1b2c3d4, 4<<16 | 2, 0, 0, 1 << 16, linkRaw} { // version 2.4, little-endian
		c.buf = binary.LittleEndian.AppendUint32(c.buf, v)
	}
	return c
}

func (c *craft) write(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "crafted.pcap")
	if err := os.WriteFile(path, c.buf, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// ip adds one packet, its transport's checksum at the given place.
func (c *craft) ip(proto byte, src, dst netip.Addr, segment []byte, sumAt int) {
	a, b := src.As4(), dst.As4()
	head := []byte{0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, proto, 0, 0}
	head = append(append(head, a[:]...), b[:]...)
	size := len(head) + len(segment)
	binary.BigEndian.PutUint16(head[2:], uint16(size))
	binary.BigEndian.PutUint16(head[10:], checksum(0, head))
	pseudo := uint32(proto) + uint32(len(segment))
	for i := 0; i < 4; i += 2 {
		pseudo += uint32(binary.BigEndian.Uint16(a[i:])) + uint32(binary.BigEndian.Uint16(b[i:]))
	}
	binary.BigEndian.PutUint16(segment[sumAt:], checksum(pseudo, segment))
	for _, v := range []int64{c.now.Unix(), int64(c.now.Nanosecond() / 1000), int64(size), int64(size)} {
		c.buf = binary.LittleEndian.AppendUint32(c.buf, uint32(v))
	}
	c.buf = append(append(c.buf, head...), segment...)
}

// checksum is that of the Internet (RFC 1071).
func checksum(sum uint32, b []byte) uint16 {
	for ; len(b) > 1; b = b[2:] {
		sum += uint32(b[0])<<8 | uint32(b[1])
	}
	if len(b) == 1 {
		sum += uint32(b[0]) << 8
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

func (c *craft) udp(src, dst netip.AddrPort, payload []byte) {
	s := binary.BigEndian.AppendUint16(nil, src.Port())
	s = binary.BigEndian.AppendUint16(s, dst.Port())
	s = binary.BigEndian.AppendUint16(s, uint16(8+len(payload)))
	c.ip(protoUDP, src.Addr(), dst.Addr(), append(append(s, 0, 0), payload...), 6)
}

// talk is a TCP conversation.
type talk struct {
	c     *craft
	ends  [2]netip.AddrPort // client, server
	seq   [2]uint32
	speed time.Duration // of one way
}

func (c *craft) talk(client, server netip.AddrPort) *talk {
	t := &talk{c: c, ends: [2]netip.AddrPort{client, server}, seq: [2]uint32{1000, 5000}, speed: 5 * time.Millisecond}
	t.send(0, flagSYN, nil)
	t.send(1, flagSYN|flagACK, nil)
	t.send(0, flagACK, nil)
	return t
}

func (t *talk) send(from int, flags byte, payload []byte) {
	t.c.now = t.c.now.Add(t.speed)
	s := binary.BigEndian.AppendUint16(nil, t.ends[from].Port())
	s = binary.BigEndian.AppendUint16(s, t.ends[1-from].Port())
	s = binary.BigEndian.AppendUint32(s, t.seq[from])
	ack := uint32(0)
	if flags&flagACK != 0 {
		ack = t.seq[1-from]
	}
	s = binary.BigEndian.AppendUint32(s, ack)
	s = append(s, 5<<4, flags, 0xff, 0xff, 0, 0, 0, 0)
	t.c.ip(protoTCP, t.ends[from].Addr(), t.ends[1-from].Addr(), append(s, payload...), 16)
	t.seq[from] += uint32(len(payload))
	if flags&(flagSYN|flagFIN) != 0 {
		t.seq[from]++
	}
}

// exchange is a request and, behind the wait, its answer.
func (t *talk) exchange(request string, wait time.Duration, answer string) {
	t.send(0, flagPSH|flagACK, []byte(request))
	t.send(1, flagACK, nil)
	t.c.now = t.c.now.Add(wait)
	t.send(1, flagPSH|flagACK, []byte(answer))
	t.send(0, flagACK, nil)
}

func (t *talk) close() {
	t.send(0, flagFIN|flagACK, nil)
	t.send(1, flagFIN|flagACK, nil)
	t.send(0, flagACK, nil)
}

// trouble is a capture of so many services, each slow in its own way, and of
// bulk packets in each conversation.
func trouble(services, bulk int) *craft {
	c := newCraft()
	data := make([]byte, 64)
	for i := range services {
		client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), 40000)
		server := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 2, byte(i >> 8), byte(i)}), 8080)
		t := c.talk(client, server)
		t.exchange("GET /a HTTP/1.1\r\nHost: a\r\n\r\n", 3*time.Second, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		t.speed = 10 * time.Microsecond
		for range bulk / 2 {
			t.send(1, flagACK, data)
			t.send(0, flagACK, nil)
		}
		t.close()
	}
	return c
}
