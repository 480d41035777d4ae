package assigned_test

import (
	"testing"

	"netwhy/analyze/proto/assigned"
)

// TestTaken has what tshark 4.0.17 makes of connections whose SYN it saw.
func TestTaken(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		what           assigned.Content
		server, client uint16
		want           bool
	}{
		{assigned.HTTP, 80, 50000, false},
		{assigned.HTTP, 9999, 50000, false},
		{assigned.HTTP, 443, 50000, false}, // no TLS: HTTP may look
		{assigned.HTTP, 1433, 50000, true},
		{assigned.HTTP, 9999, 7000, true},
		{assigned.HTTP, 8080, 1433, false}, // the server's port first
		{assigned.HTTP, 25, 8080, true},
		{assigned.HTTP, 6063, 50000, true},
		{assigned.HTTP, 6064, 50000, false},
		{assigned.TLS, 443, 50000, false},
		{assigned.TLS, 80, 50000, true},
		{assigned.TLS, 4433, 50000, false},
		{assigned.DNS, 40000, 50000, false},
		{assigned.DNS, 137, 50000, true},
	} {
		if got := x.what.Taken(x.server, x.client); got != x.want {
			t.Errorf("%d: %d to %d: got %v", x.what, x.client, x.server, got)
		}
	}
}
