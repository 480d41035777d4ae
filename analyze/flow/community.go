package flow

import (
	"crypto/sha1" //nolint:gosec // the specification demands it; nothing is secured by it
	"encoding/base64"
	"encoding/binary"
	"net/netip"
)

// CommunityID names a conversation as Zeek, Suricata and Elastic do, so that
// their logs and ours can be joined: version 1 of the Community ID with seed 0
// (github.com/corelight/community-id-spec). It is the same for both directions.
// It serves protocols with ports; any other, or an invalid address, has "".
func CommunityID(proto uint8, a, b netip.AddrPort) string {
	switch proto {
	case TCP, UDP, SCTP:
	default:
		return ""
	}
	from, to := a.Addr().Unmap(), b.Addr().Unmap()
	if !from.IsValid() || !to.IsValid() {
		return ""
	}
	sport, dport := a.Port(), b.Port()
	if c := from.WithZone("").Compare(to.WithZone("")); c > 0 || c == 0 && sport > dport {
		from, to, sport, dport = to, from, dport, sport
	}
	var buf [2 + 16 + 16 + 2 + 4]byte // seed, addresses, protocol and padding, ports
	in := append(buf[:2], from.AsSlice()...)
	in = append(in, to.AsSlice()...)
	in = append(in, proto, 0)
	in = binary.BigEndian.AppendUint16(in, sport)
	in = binary.BigEndian.AppendUint16(in, dport)
	sum := sha1.Sum(in) //nolint:gosec // the specification demands it
	out := make([]byte, 0, 2+28)
	out = append(out, "1:"...)
	return string(base64.StdEncoding.AppendEncode(out, sum[:]))
}
