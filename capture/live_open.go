package capture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"netwhy/capture/packet"
)

// Why an interface cannot be opened, beneath an *OpenError.
var (
	ErrNoInterface = errors.New("no such interface")
	ErrPermission  = errors.New("not permitted")
	ErrDown        = errors.New("interface is down")
)

// AnyInterface is libpcap's name for all interfaces together.
const AnyInterface = "any"

// spareBuffer is the ring of the standby socket: it is used only for interfaces
// that came back.
const spareBuffer = 8 << 20

// nothing is a filter that no frame matches, and that libpcap does not see
// through: it refuses those.
const nothing = "ifindex 2147483647"

// OpenLive opens interfaces. Frames are kept in the kernel's ring from here on;
// the first Next starts to read them, so that privileges can be given up between.
// The error is an *OpenError or a *FilterError, one for each interface that
// cannot be opened.
func OpenLive(_ context.Context, opt LiveOptions) (*Live, error) {
	if len(opt.Interfaces) == 0 {
		return nil, &OpenError{Name: "(none)", Reason: "no interface was named", Remedy: "name one with -i; netwhy interfaces lists them"}
	}
	opt.Interfaces = slices.Compact(slices.Clone(opt.Interfaces))
	defaults(&opt)
	l := &Live{
		opt: opt, pool: packet.NewPool(opt.Batches, opt.BatchBytes), out: make(chan *packet.Batch, opt.Batches),
		info: Info{Kind: KindLive, Names: opt.Interfaces}, begin: make(chan struct{}),
	}
	if opt.Tap != nil {
		l.only = packet.NewPool(recordBatches, opt.BatchBytes)
		l.taps = make(chan *packet.Batch, opt.Batches+recordBatches)
	}
	var err error
	if l.wake, err = newWaker(); err != nil {
		return nil, fmt.Errorf("open interfaces: %w", err)
	}
	l.ready.Add(1)
	l.group.Go(l.reader)
	l.ready.Wait()
	if err := l.open(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func defaults(opt *LiveOptions) {
	if opt.SnapLen <= 0 {
		opt.SnapLen = DefaultSnapLen
	}
	if opt.Buffer <= 0 {
		opt.Buffer = DefaultBuffer
	}
	if opt.Batches <= 0 {
		opt.Batches = DefaultLiveBatches
	}
	if opt.BatchBytes <= 0 {
		opt.BatchBytes = packet.DefaultBatchBytes
	}
}

func (l *Live) open() error {
	var faults []error
	for _, name := range l.opt.Interfaces {
		p, err := openPort(name, &l.opt)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		p.index = l.interfaceIndex(Interface{Name: name, Link: p.link, SnapLen: uint32(l.opt.SnapLen)}) //nolint:gosec // checked by the caller's flags
		l.ports = append(l.ports, p)
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	if len(l.ports) > 1 {
		for _, p := range l.ports {
			p.stage = newStage(l.opt.BatchBytes)
		}
	}
	if l.opt.Standby && !slices.Contains(l.opt.Interfaces, AnyInterface) {
		opt := l.opt
		opt.Buffer, opt.Filter, opt.Monitor, opt.Clock = spareBuffer, nothing, false, ""
		if p, err := openPort(AnyInterface, &opt); err == nil { // without one, an interface that comes back is lost: told then
			l.spare = p
		}
	}
	now := time.Now()
	l.clock, l.looked, l.asked = newClockWatch(now), now, now
	return nil
}

// PermissionRemedy is the line that gives this program the right to capture.
func PermissionRemedy() string { return permissionRemedy("cap_net_raw") }

func permissionRemedy(capabilities string) string {
	self, err := os.Executable()
	if err != nil {
		self = "$(command -v netwhy)"
	}
	return "run with sudo, or once: sudo setcap " + capabilities + "+ep " + self
}
