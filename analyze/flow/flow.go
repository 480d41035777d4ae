// Package flow names conversations: their keys, numbers, directions and
// community_id. It imports nothing of netwhy.
package flow

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"net/netip"
)

// IANA protocol numbers that the core tells apart.
const (
	ICMP   = 1
	TCP    = 6
	UDP    = 17
	ICMPv6 = 58
	SCTP   = 132
)

// Key identifies a conversation in either direction. It is comparable and holds
// no pointer: a table of a million keys costs the garbage collector nothing.
type Key struct {
	A, B         [16]byte // lower and higher endpoint; IPv4 as ::ffff:a.b.c.d
	PortA, PortB uint16
	Realm        uint32 // what keeps equal addresses apart; 0 in the plain case
	Proto        uint8  // IANA number of the innermost IP packet's payload
}

// NewKey orders the endpoints of one packet into a Key and tells whether the
// packet's source is endpoint A.
func NewKey(proto uint8, src, dst [16]byte, sport, dport uint16, realm uint32) (k Key, srcIsA bool) {
	c := bytes.Compare(src[:], dst[:])
	srcIsA = c < 0 || c == 0 && sport <= dport
	if srcIsA {
		return Key{A: src, B: dst, PortA: sport, PortB: dport, Realm: realm, Proto: proto}, true
	}
	return Key{A: dst, B: src, PortA: dport, PortB: sport, Realm: realm, Proto: proto}, false
}

// Is reports whether two keys are the same: == in fewer steps, what tells most keys
// apart first.
func (k *Key) Is(o *Key) bool {
	le := binary.LittleEndian
	return k.PortA == o.PortA && k.PortB == o.PortB && k.Proto == o.Proto && k.Realm == o.Realm &&
		le.Uint64(k.A[8:])^le.Uint64(o.A[8:])|le.Uint64(k.B[8:])^le.Uint64(o.B[8:])|
			le.Uint64(k.A[:])^le.Uint64(o.A[:])|le.Uint64(k.B[:])^le.Uint64(o.B[:]) == 0
}

// Hash32 mixes the key into 32 bits. It is the same for both directions, since a
// key is. Tables and lanes find a conversation by it, so that all have to mix alike.
func (k *Key) Hash32() uint32 {
	le := binary.LittleEndian
	a, a8, b, b8 := le.Uint64(k.A[0:]), le.Uint64(k.A[8:]), le.Uint64(k.B[0:]), le.Uint64(k.B[8:])
	if k.Realm == 0 && a|b == 0 && a8&b8&math.MaxUint32 == mapped && (a8|b8)&math.MaxUint32 == mapped {
		p := Pair4{end4(a8, k.PortA), end4(b8, k.PortB)}
		return p.Hash32(k.Proto)
	}
	h := mix(a^seedA, a8)
	h = mix(h, b)
	h = mix(h, b8)
	h = mix(h, uint64(k.PortA)<<48|uint64(k.PortB)<<32|uint64(k.Realm)<<8^uint64(k.Proto))
	// The ports are in the upper half, and a product carries upwards only: without
	// this all connections of two hosts would have the same lower half.
	h *= spread
	return half(h ^ h>>29)
}

// Odd numbers without a pattern.
const (
	seedA  = 0x9E3779B97F4A7C15
	seedB  = 0xD6E8FEB86659FD93
	spread = 0xc4ceb9fe1a85ec53
)

func half(h uint64) uint32 {
	return uint32(h ^ h>>32) //nolint:gosec // the lower half is what is wanted
}

func mix(h, v uint64) uint64 {
	h ^= v
	h *= 0xff51afd7ed558ccd
	return h ^ h>>32
}

// Pair4 is the two ends of a packet over IPv4 in two numbers, address<<16 | port, lower
// one first: a Key in registers.
type Pair4 struct{ A, B uint64 }

// NewPair4 orders the ends of a packet and tells whether its source is A.
func NewPair4(src, dst uint32, sport, dport uint16) (p Pair4, srcIsA bool) {
	s, d := uint64(src)<<16|uint64(sport), uint64(dst)<<16|uint64(dport)
	// Either way round is as likely: no branch could be foreseen.
	return Pair4{min(s, d), max(s, d)}, s <= d
}

// PortA is the port of the lower end.
func (p *Pair4) PortA() uint16 { return uint16(p.A & math.MaxUint16) }

// PortB is that of the higher one.
func (p *Pair4) PortB() uint16 { return uint16(p.B & math.MaxUint16) }

// mapped is how the last eight bytes of an IPv4 address in a Key begin: ::ffff:0:0/96.
const mapped = 0xffff << 16

// word4 is the last eight bytes of the address of an end, as they are read from a Key.
func word4(end uint64) uint64 {
	return mapped | uint64(bits.ReverseBytes32(uint32(end>>16)))<<32 //nolint:gosec // 48 bits
}

// end4 turns that, and a port, into an end.
func end4(word uint64, port uint16) uint64 {
	return uint64(bits.ReverseBytes32(uint32(word>>32)))<<16 | uint64(port)
}

// Hash32 is that of the Key: most packets have one, so it takes a single product of
// all bits with all. An end is of 48 bits, so that no factor can be 0.
func (p *Pair4) Hash32(proto uint8) uint32 {
	hi, lo := bits.Mul64(p.A^seedA, p.B^uint64(proto)<<48^seedB)
	h := (hi ^ lo) * spread
	return half(h)
}

// Fill writes the pair into an empty Key.
func (p *Pair4) Fill(proto uint8, k *Key) {
	// In one piece: who reads them so would wait for pieces to be written.
	binary.LittleEndian.PutUint64(k.A[8:], word4(p.A))
	binary.LittleEndian.PutUint64(k.B[8:], word4(p.B))
	k.PortA, k.PortB, k.Proto = p.PortA(), p.PortB(), proto
}

// AddrA and AddrB return the endpoints for the edges of the program.
func (k *Key) AddrA() netip.AddrPort { return netip.AddrPortFrom(Addr(k.A), k.PortA) }

// AddrB is the other endpoint.
func (k *Key) AddrB() netip.AddrPort { return netip.AddrPortFrom(Addr(k.B), k.PortB) }

// Addr turns sixteen bytes of a key into an address, IPv4 where it is one.
func Addr(b [16]byte) netip.Addr { return netip.AddrFrom16(b).Unmap() }

// From4 writes an IPv4 address in the sixteen bytes of a key.
func From4(b []byte) (a [16]byte) {
	a[10], a[11] = 0xff, 0xff
	copy(a[12:], b)
	return a
}

// ID is the number of a conversation: Wireshark's tcp.stream or udp.stream.
// The zero ID is no conversation.
type ID struct {
	Proto  uint8 // TCP or UDP; 0: none
	Stream uint32
}

// Key is the ID in one number, in the order of protocol and number; 0: none.
func (id ID) Key() uint64 { return uint64(id.Proto)<<32 | uint64(id.Stream) }

// Valid reports whether the ID names a conversation.
func (id ID) Valid() bool { return id.Proto != 0 }

// Dir is a direction within a conversation.
type Dir uint8

// The client is who opened the conversation (sent the SYN, or was first seen).
const (
	ToServer Dir = iota
	ToClient
)

// Reverse returns the other direction.
func (d Dir) Reverse() Dir { return d ^ 1 }

func (d Dir) String() string {
	if d == ToServer {
		return "to server"
	}
	return "to client"
}
