//go:build linux

package livetest

import (
	"encoding/binary"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// Traffic makes whole TCP connections, each of seven frames (handshake, request,
// answer, both FINs), on a packet socket of the other side: far more of them than
// real hosts could open.
type Traffic struct {
	fd    int
	to    unix.SockaddrLinklayer
	next  uint32
	frame [128]byte
}

// NewTraffic opens the socket; Close closes it.
func (n *Net) NewTraffic() *Traffic {
	n.t.Helper()
	x := &Traffic{}
	var err error
	n.InThere(func() {
		if x.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
			return
		}
		_ = unix.SetsockoptInt(x.fd, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1) // faster where it is there
		var i *net.Interface
		if i, err = net.InterfaceByName(There); err == nil {
			x.to.Ifindex = i.Index
		}
	})
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = unix.Close(x.fd) })
	return x
}

// FramesEach is how many frames a connection has.
const FramesEach = 7

// Connections sends so many connections, and returns how many frames the kernel
// took.
func (x *Traffic) Connections(count int) (sent int) {
	const (
		fin, syn, psh, ack = 1, 2, 8, 16
		words              = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
		answer             = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
	)
	for range count {
		x.next++
		port := uint16(1024 + x.next%60000)
		client := [4]byte{10, 99, byte(x.next / 60000 >> 8), byte(x.next / 60000)} //nolint:gosec // an address each 60,000
		s, a := x.next*7919, x.next*104729
		steps := [FramesEach]struct {
			back     bool
			seq, ack uint32
			flags    byte
			data     string
		}{
			{false, s, 0, syn, ""},
			{true, a, s + 1, syn | ack, ""},
			{false, s + 1, a + 1, ack, ""},
			{false, s + 1, a + 1, ack | psh, words},
			{true, a + 1, s + 1 + uint32(len(words)), ack | psh, answer},
			{false, s + 1 + uint32(len(words)), a + 1 + uint32(len(answer)), fin | ack, ""},
			{true, a + 1 + uint32(len(answer)), s + 2 + uint32(len(words)), fin | ack, ""},
		}
		for i := range steps {
			p := &steps[i]
			b := x.segment(client, port, p.back, p.seq, p.ack, p.flags, p.data)
			for {
				err := unix.Sendto(x.fd, b, 0, &x.to)
				if err == nil {
					sent++
					break
				}
				if err != unix.ENOBUFS && err != unix.EAGAIN && err != unix.EINTR {
					return sent
				}
			}
		}
	}
	return sent
}

// segment is an Ethernet frame with IPv4 and TCP, checksums and all.
func (x *Traffic) segment(client [4]byte, port uint16, back bool, seq, ack uint32, flags byte, data string) []byte {
	const eth, ip, tcp = 14, 20, 20
	server := [4]byte{10, 77, 0, 200}
	b := x.frame[:eth+ip+tcp+len(data)]
	clear(b)
	copy(b, []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0})
	h := b[eth:]
	h[0], h[8], h[9] = 0x45, 64, 6
	binary.BigEndian.PutUint16(h[2:], uint16(ip+tcp+len(data))) //nolint:gosec // short
	binary.BigEndian.PutUint16(h[4:], uint16(seq))              //nolint:gosec // any number
	t := h[ip:]
	src, dst, sport, dport := client, server, port, uint16(80)
	if back {
		src, dst, sport, dport = dst, src, dport, sport
	}
	copy(h[12:], src[:])
	copy(h[16:], dst[:])
	binary.BigEndian.PutUint16(h[10:], ^fold(sum(0, h[:ip])))
	binary.BigEndian.PutUint16(t, sport)
	binary.BigEndian.PutUint16(t[2:], dport)
	binary.BigEndian.PutUint32(t[4:], seq)
	binary.BigEndian.PutUint32(t[8:], ack)
	t[12], t[13] = 5<<4, flags
	binary.BigEndian.PutUint16(t[14:], 64000)
	copy(t[tcp:], data)
	pseudo := sum(uint32(6+tcp+len(data)), h[12:20]) //nolint:gosec // short
	binary.BigEndian.PutUint16(t[16:], ^fold(sum(pseudo, t[:tcp+len(data)])))
	return b
}

func sum(s uint32, b []byte) uint32 {
	for len(b) > 1 {
		s += uint32(binary.BigEndian.Uint16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		s += uint32(b[0]) << 8
	}
	return s
}

func fold(s uint32) uint16 {
	for s > 0xffff {
		s = s&0xffff + s>>16
	}
	return uint16(s)
}

// Soak is how long soak tests run: NETWHY_SOAK, such as "5m", or a few seconds.
func Soak() string {
	if v := os.Getenv("NETWHY_SOAK"); v != "" {
		return v
	}
	return "8s"
}
