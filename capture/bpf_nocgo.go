//go:build !cgo || !unix

package capture

import "netwhy/capture/packet"

// filter needs libpcap's compiler, which this build is without.
type filter struct {
	unfit []*FilterError
}

func newFilter(text string) (*filter, error) {
	return nil, &FilterError{
		Filter: text,
		Reason: "this netwhy was built without libpcap (CGO_ENABLED=0), which compiles filters; build it with cgo and libpcap's headers (libpcap-dev)",
	}
}

func (*filter) apply(*packet.Batch) {}

func (*filter) close() {}
