package tls

import (
	"testing"
	"time"

	"netwhy/analyze/proto"
	"netwhy/analyze/proto/prototest"
)

// A record whose middle is missing ends where its header says: what stands behind it
// in the same segment is read, as tshark does.
func TestGapInsideRecord(t *testing.T) {
	t.Parallel()
	record := append([]byte{22, 3, 3, 5, 0xdc, 11, 0, 5, 0xd8}, make([]byte, 1496)...)
	alert := []byte{21, 3, 3, 0, 2, 2, 40}
	for _, x := range []struct {
		what string
		lost int
		rest []byte
		want uint64
	}{
		{"its end is there", 500, append(record[1000:len(record):len(record)], alert...), 1},
		{"its end is missing", len(record) - 500, alert, 1},
		{"more is missing", len(record) - 500 + 3, alert[3:], 0},
	} {
		c := prototest.New(Spec(), proto.TCP, 443)
		c.Send(down, 0, record[:500])
		c.Gap(down, time.Millisecond, x.lost)
		c.Send(down, 2*time.Millisecond, x.rest)
		if n := c.Rec.Counts[proto.TLSAlert]["40"]; n != x.want {
			t.Errorf("%s: %d alerts, want %d", x.what, n, x.want)
		}
	}
}
