package tls

import (
	"testing"
	"time"

	"netwhy/analyze/proto"
	"netwhy/analyze/proto/prototest"
)

// An encrypted alert of a connection whose hellos were not captured is its end, and no
// refusal of the handshake.
func TestAlertWithoutHello(t *testing.T) {
	t.Parallel()
	c := prototest.New(Spec(), proto.TCP, 443)
	c.Send(up, 0, append([]byte{21, 3, 3, 0, 26}, make([]byte, 26)...))
	c.End(time.Second, proto.Closed)
	if codes := c.Rec.Codes(); len(codes) > 0 {
		t.Errorf("reported %v", codes)
	}
}
