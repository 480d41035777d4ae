package flow

import (
	"net/netip"
	"testing"
)

// TestCommunityID: the vectors that the specification publishes
// (corelight/community-id-spec, baseline/baseline_deflt.json) of the protocols
// with ports, each in both directions.
func TestCommunityID(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		proto uint8
		a, b  string
		want  string
	}{
		{"tcp over IPv4", TCP, "128.232.110.120:34855", "66.35.250.204:80", "1:LQU9qZlK+B5F3KDmev6m5PMibrg="},
		{"tcp over IPv6", TCP, "[2001:470:e5bf:dead:4957:2174:e82c:4887]:63943", "[2607:f8b0:400c:c03::1a]:25", "1:/qFaeAR+gFe1KYjMzVDsMv+wgU4="},
		{"udp", UDP, "192.168.1.52:54585", "8.8.8.8:53", "1:d/FP5EW3wiY1vCndhwleRRKHowQ="},
		{"sctp, equal ports", SCTP, "192.168.170.8:7", "192.168.170.56:7", "1:MP2EtRCAUIZvTw6MxJHLV7N7JDs="},
		{"IPv4 within IPv6", TCP, "[::ffff:128.232.110.120]:34855", "66.35.250.204:80", "1:LQU9qZlK+B5F3KDmev6m5PMibrg="},
		{"a protocol without ports", ICMP, "192.168.0.89:8", "192.168.0.1:0", ""},
	} {
		a, b := netip.MustParseAddrPort(tt.a), netip.MustParseAddrPort(tt.b)
		if got := CommunityID(tt.proto, a, b); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if got := CommunityID(tt.proto, b, a); got != tt.want {
			t.Errorf("%s, backwards: %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := CommunityID(TCP, netip.AddrPort{}, netip.MustParseAddrPort("10.0.0.1:1")); got != "" {
		t.Errorf("an unknown address: %q", got)
	}
}

// TestCommunityIDEqualAddresses: the ports decide.
func TestCommunityIDEqualAddresses(t *testing.T) {
	t.Parallel()
	a, b := netip.MustParseAddrPort("127.0.0.1:9"), netip.MustParseAddrPort("127.0.0.1:8")
	if CommunityID(TCP, a, b) != CommunityID(TCP, b, a) {
		t.Error("the directions differ")
	}
}
