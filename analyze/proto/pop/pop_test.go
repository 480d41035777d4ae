package pop

import (
	"testing"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

func TestProbe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dir           flow.Dir
		text          string
		content, port proto.Verdict
	}{
		{flow.ToClient, "+OK POP3 server ready\r\n", proto.Certain, proto.Likely},
		{flow.ToClient, "+OK <1896.697170952@dbc.mtview.ca.us>\r\n", proto.Certain, proto.Likely},
		{flow.ToClient, "+OK Hello there.\r\n", proto.No, proto.Likely},
		{flow.ToClient, "+OK GET item 0 value\r\n", proto.No, proto.Likely},
		{flow.ToClient, "+OK", proto.No, proto.NeedMore},
		{flow.ToServer, "UIDL\r\n", proto.Likely, proto.NeedMore},
		{flow.ToServer, "USER bob\r\n", proto.No, proto.NeedMore}, // FTP asks the same
		{flow.ToServer, "GET item 0\r\n", proto.No, proto.No},
	} {
		if v := probe(c.dir, []byte(c.text)); v != c.content {
			t.Errorf("%q: by content %d, want %d", c.text, v, c.content)
		}
		if v := probePort(c.dir, []byte(c.text)); v != c.port {
			t.Errorf("%q: at the port %d, want %d", c.text, v, c.port)
		}
	}
}
