//go:build cgo && linux

package capture

import (
	"strings"
	"testing"
)

// TestLoad: a library that is not there, and one that is not libpcap, are faults.
func TestLoad(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"libnone.so.0": "libnone.so.0", "libc.so.6": "pcap_activate"} {
		if err := load(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
	if err := loadLibpcap(); err != nil {
		t.Error(err)
	}
}
