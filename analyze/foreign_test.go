package analyze_test

import (
	"slices"
	"testing"

	"netwhy/analyze"
)

// TestNotAssessedOnForeignPorts: what cannot be read is said to be so on any port, though
// the counters, which go by Wireshark's ports, do not have it.
func TestNotAssessedOnForeignPorts(t *testing.T) {
	t.Parallel()
	for _, port := range []byte{22, 221} {
		r := run(t, rawCapture(t, [][]byte{ipv4(server, client, 6, tcpFrom(port, 0x40, "SSH-2.0-OpenSSH_9.6\r\n"))}), analyze.Options{Workers: 2})
		if counted := r.Protocols["ssh"] > 0; counted != (port == 22) || !slices.Equal(r.NotAssessed, []string{"ssh: encrypted"}) {
			t.Errorf("port %d: %d frames counted, not assessed: %v", port, r.Protocols["ssh"], r.NotAssessed)
		}
	}
}
