package dns_test

import (
	"testing"
	"time"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/dns"
	"netwhy/analyze/proto/prototest"
)

// TestNamesBehindGap checks which segments count behind missing bytes: tshark takes the
// two bytes that come for a length, while the analyzer finds the next message.
func TestNamesBehindGap(t *testing.T) {
	t.Parallel()
	const query = "\x00\x1c\xe7\xaf\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x06google\x03com\x00\x00\x01\x00\x01"
	c := prototest.New(dns.TCP(), proto.TCP, 53)
	steps := []struct {
		gap  int
		text string
		want int // segments counted so far
	}{
		{0, query, 1},
		{28, query, 2}, // one whole message is missing
		{2, query[2:], 2},
		{0, query, 2},
	}
	for i, step := range steps {
		at := time.Duration(i+1) * time.Second
		if step.gap > 0 {
			c.Gap(flow.ToServer, at, step.gap)
		}
		c.Send(flow.ToServer, at, []byte(step.text))
		if got := c.Rec.Carried["dns"]; got != step.want {
			t.Errorf("step %d: %d counted, want %d", i, got, step.want)
		}
	}
}
