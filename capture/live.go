package capture

import (
	"cmp"
	"context"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"netwhy/capture/packet"
)

// LiveOptions says how interfaces are read. Only Interfaces has to be set.
type LiveOptions struct {
	Interfaces []string // names; "any": all of them
	Filter     string   // tcpdump's syntax, run by the kernel
	SnapLen    int      // bytes kept of a frame; 0: DefaultSnapLen
	Buffer     int      // bytes of the kernel's ring, for each interface; 0: DefaultBuffer
	NoPromisc  bool     // only what is sent to and from this machine, broadcasts and its groups
	Monitor    bool     // IEEE 802.11 monitor mode
	Clock      string   // libpcap's name of the kind of time stamp, such as "adapter_unsynced"; empty: the host's
	MaxPackets uint64   // ends after so many frames; 0: no limit

	// Batches and BatchBytes bound what is under way to the analysis; 0:
	// DefaultLiveBatches of packet.DefaultBatchBytes.
	Batches    int
	BatchBytes int

	// Tap, if not nil, gets every batch before any is shed, from one goroutine,
	// in order: it records. While it is slower than the traffic the kernel's ring
	// fills, as with tcpdump. It must not keep the batch.
	Tap func(*packet.Batch)
	// Standby keeps a socket ready with which an interface that went away can be
	// read when it comes back: opening one then would need the privilege that was
	// given up.
	Standby bool
	// Notify, if not nil, is told what happens to an interface during the run,
	// from one goroutine.
	Notify func(Notice)
}

// Notice is something that the user has to know about an interface.
type Notice struct {
	Interface string
	Text      string // one line
	Lost      bool   // nothing is seen of the interface from here on; else it is back
}

// Defaults of LiveOptions and bounds of the reading loop.
const (
	DefaultSnapLen = 262144   // tcpdump's: no frame is longer, save those that offload glues together
	DefaultBuffer  = 64 << 20 // outlives a stall of 300 ms at 250,000 frames a second
	// DefaultLiveBatches lets the workers be behind by 16 MiB of frames.
	DefaultLiveBatches = 64
	// recordBatches are those that only the tap reads, when the analysis has all
	// others: the recording is never shed for its sake.
	recordBatches = 32

	flushAfter = 10 * time.Millisecond  // a batch that is not full leaves at this age
	heartbeat  = 100 * time.Millisecond // without traffic an empty batch tells the time
	blockWait  = 10                     // ms after which the kernel hands out a block that is not full
	statsEvery = 200 * time.Millisecond // drops are asked for
	lookEvery  = 250 * time.Millisecond // an interface that went away is looked for
	holdBack   = 60 * time.Millisecond  // frames of several interfaces wait for one another so long: see quietAfter
	drainLimit = 300 * time.Millisecond // the ring is emptied at the end, but not for ever
	quietAfter = 60 * time.Millisecond  // no more will come: the kernel closes a block within two of its timer's rounds
	clockJump  = time.Second            // wall and monotonic clock differ by more: the clock was set, or the machine slept
	framesEach = 4096                   // frames of a batch at most
)

// Live reads interfaces. Opening needs privileges, reading none.
type Live struct {
	opt    LiveOptions
	ports  []*port
	spare  *port // on "any", silent until an interface comes back; nil: none
	pool   *packet.Pool
	only   *packet.Pool // batches of which only the tap reads
	out    chan *packet.Batch
	taps   chan *packet.Batch
	wake   *waker
	begun  bool
	begin  chan struct{} // closed when reading begins, or never will
	unread bool          // closed before it began
	ready  sync.WaitGroup
	group  sync.WaitGroup

	// Of the reading goroutine.
	number        uint64 // of the last frame
	cur           *filling
	slot          filling               // where cur points to
	done          bool                  // MaxPackets were read
	broken        bool                  // the clock jumped: the next batch says so
	fault         atomic.Pointer[error] // a panic that ended the capture
	clock         clockWatch
	asked, looked time.Time
	withSpare     []*port // ports and spare
	denied        bool    // a test's: there is no right to open anything

	mu      sync.Mutex
	info    Info
	packets atomic.Uint64 // handed to the analysis
	bytes   atomic.Uint64
}

// filling is the batch at hand.
type filling struct {
	batch *packet.Batch
	spare bool // the analysis has no room: for the tap only
	since time.Time
}

// Next implements Source. A batch may be empty: its clock tells that time went by.
func (l *Live) Next(ctx context.Context) (*packet.Batch, error) {
	if !l.begun {
		l.begun = true
		l.start()
	}
	select {
	case b, ok := <-l.out:
		if ok {
			return b, nil
		}
		return nil, l.why(ctx)
	case <-ctx.Done():
		return l.last(ctx)
	}
}

// last hands out what was under way when the end was asked for, then the
// context's cause. The frames in the kernel's ring belong to the capture too.
func (l *Live) last(ctx context.Context) (*packet.Batch, error) {
	l.wake.stop()
	if b, ok := <-l.out; ok { // the reader closes it within drainLimit
		return b, nil
	}
	return nil, l.why(ctx)
}

// why is what ended the capture: a fault of netwhy, else the end of the context,
// else the end that was asked for.
func (l *Live) why(ctx context.Context) error {
	if fault := l.fault.Load(); fault != nil {
		return *fault
	}
	return cmp.Or(context.Cause(ctx), io.EOF)
}

func (l *Live) start() {
	if l.opt.Tap != nil {
		l.group.Go(func() {
			for b := range l.taps {
				l.tap(b)
				b.Release()
			}
		})
	}
	close(l.begin)
}

// reader waits on a thread of its own until reading begins. The thread is put
// before others while that is still permitted: it takes little time, and what it
// does not take in time is lost.
func (l *Live) reader() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer prefer()()
	l.ready.Done()
	<-l.begin
	if !l.unread {
		l.read()
	}
}

func (l *Live) tap(b *packet.Batch) {
	defer packet.Rescue("the recording", l.fail)
	if l.fault.Load() == nil {
		l.opt.Tap(b)
	}
}

// fail ends the capture for a panic in one of its goroutines.
func (l *Live) fail(err error) {
	l.fault.CompareAndSwap(nil, &err)
	l.wake.stop()
}

// Stop ends the capture as if the source had come to its end: what the kernel
// holds is still handed on, then Next says io.EOF. Any goroutine may call it.
func (l *Live) Stop() { l.wake.stop() }

// Close implements Source. It never waits longer than for one frame to be
// handled: reading is woken, not interrupted.
func (l *Live) Close() error {
	l.wake.stop()
	if !l.begun {
		l.begun, l.unread = true, true
		close(l.out)
		close(l.begin)
	}
	for b := range l.out {
		b.Release()
	}
	l.group.Wait()
	for _, p := range l.ports {
		p.close()
	}
	if l.spare != nil {
		l.spare.close()
	}
	return l.wake.close()
}

// Info implements Source.
func (l *Live) Info() Info {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := l.info
	i.Interfaces, i.Losses = slices.Clone(i.Interfaces), slices.Clone(i.Losses)
	return i
}

// Progress implements Source.
func (l *Live) Progress() Progress {
	return Progress{Read: int64(l.bytes.Load()), Size: -1, Packets: l.packets.Load()} //nolint:gosec // below 9 exabytes
}

// Depth returns how many batches are under way, and of how many: the pressure.
func (l *Live) Depth() (used, size int) { return l.pool.Size() - l.pool.Free(), l.pool.Size() }

// interfaceIndex makes a new entry in the list of interfaces.
func (l *Live) interfaceIndex(i Interface) uint16 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.info.Interfaces = append(l.info.Interfaces, i)
	return uint16(len(l.info.Interfaces) - 1) //nolint:gosec // bounded by maxInterfaces
}
