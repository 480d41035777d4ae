package correlate

import (
	"net/netip"
	"testing"

	"netwhy/analyze/conn"
	"netwhy/analyze/flow"
)

// TestPeers tells file sharing from clients, media and scans.
func TestPeers(t *testing.T) {
	t.Parallel()
	talk := func(n int, port func(i int) uint16, change func(c *conn.Summary)) (out []any) {
		for i := range n {
			c := &conn.Summary{
				ID: flow.ID{Proto: flow.TCP, Stream: uint32(i)}, Established: true, First: uint64(i) + 1, Start: 1, Stop: second,
				Client: conn.Side{Addr: netip.AddrPortFrom(netip.MustParseAddr("192.0.2.9"), 40000), Bytes: 9000, WireBytes: 9900},
				Server: conn.Side{Addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(i)}), port(i)), Bytes: 10, WireBytes: 100},
			}
			if change != nil {
				change(c)
			}
			out = append(out, c)
		}
		return out
	}
	own := func(i int) uint16 { return uint16(10000 + 37*i) }
	expect(t, told(t, Peers(), talk(12, own, nil)...), ManyPeers)
	expect(t, told(t, Peers(), talk(9, own, nil)...))
	expect(t, told(t, Peers(), talk(40, func(int) uint16 { return 443 }, nil)...))
	expect(t, told(t, Peers(), talk(40, func(int) uint16 { return 8080 }, nil)...))
	expect(t, told(t, Peers(), talk(40, own, func(c *conn.Summary) { c.App = "rtp" })...))
	expect(t, told(t, Peers(), talk(40, own, func(c *conn.Summary) { c.Client.Bytes, c.Server.Bytes = 0, 0 })...))
	expect(t, told(t, Peers(), talk(40, own, func(c *conn.Summary) { c.Established = false })...))
}
