//go:build !cgo || !unix

package capture

import (
	"errors"
	"net"

	"netwhy/capture/packet"
)

// port stands for an interface that this build cannot open.
type port struct {
	name  string
	index uint16
	link  packet.LinkType
	fd    int
	asked int64
	owed  int
	away
	stage *stage
}

var errNoLibpcap = errors.New("built without libpcap")

func openPort(name string, _ *LiveOptions) (*port, error) {
	return nil, &OpenError{
		Name: name, Reason: "this netwhy was built without libpcap (CGO_ENABLED=0), which reads interfaces",
		Remedy: "build it with cgo and libpcap's headers (libpcap-dev), or record with tcpdump and read that: tcpdump -U -w - | netwhy replay -",
		Err:    errNoLibpcap,
	}
}

func (*port) take(buf []byte, frames []packet.Frame) ([]byte, []packet.Frame, error) {
	return buf, frames, errNoLibpcap
}
func (*port) spilled() int                               { return 0 }
func (*port) shed(int) (frames, bytes uint64, err error) { return 0, 0, errNoLibpcap }
func (*port) drops() (kernel, nic uint64)                { return 0, 0 }
func (*port) refilter(string) error                      { return errNoLibpcap }
func (*port) due()                                       {}
func (*port) close()                                     {}
func linkTypeOf(string) string                           { return "" }

// devices lists what the system knows; none of it can be captured.
func devices() ([]Device, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var out []Device
	for _, i := range all {
		out = append(out, Device{
			Name: i.Name, Up: i.Flags&net.FlagUp != 0, Running: i.Flags&net.FlagRunning != 0, Loopback: i.Flags&net.FlagLoopback != 0,
		})
	}
	return out, nil
}
