package analyze

import (
	"context"
	"encoding/binary"
	"io"
	"sync/atomic"
	"testing"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/capture/packet"
)

// scripted is a live source that hands out what a test wrote, batch by batch.
type scripted struct {
	batches chan *packet.Batch
	pool    *packet.Pool
	number  uint64
}

func newScripted() *scripted {
	return &scripted{batches: make(chan *packet.Batch, 64), pool: packet.NewPool(64, 64<<10)}
}

func (s *scripted) Next(ctx context.Context) (*packet.Batch, error) {
	select {
	case b, ok := <-s.batches:
		if !ok {
			return nil, io.EOF
		}
		return b, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// give hands out frames, each at a time in ms; at is the source's clock.
func (s *scripted) give(t *testing.T, clock int64, broken bool, frames ...timed) {
	t.Helper()
	b, err := s.pool.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.Clock, b.Break = clock*1_000_000, broken
	for _, f := range frames {
		s.number++
		if !b.Append(packet.Frame{Number: s.number, Time: f.ms * 1_000_000, Link: packet.LinkRaw}, f.bytes) {
			t.Fatal("the batch is full")
		}
	}
	s.batches <- b
}

type timed struct {
	ms    int64
	bytes []byte
}

// segment is an IPv4 packet with TCP between 10.0.0.1:40000+n and 10.0.0.2:80.
func segment(n uint16, back bool, seq, ack uint32, flags byte, data string) []byte {
	b := make([]byte, 40+len(data))
	b[0], b[8], b[9] = 0x45, 64, 6
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
	src, dst, sport, dport := []byte{10, 0, 0, 1}, []byte{10, 0, 0, 2}, 40000+n, uint16(80)
	if back {
		src, dst, sport, dport = dst, src, dport, sport
	}
	copy(b[12:], src)
	copy(b[16:], dst)
	binary.BigEndian.PutUint16(b[20:], sport)
	binary.BigEndian.PutUint16(b[22:], dport)
	binary.BigEndian.PutUint32(b[24:], seq)
	binary.BigEndian.PutUint32(b[28:], ack)
	b[32], b[33] = 5<<4, flags
	binary.BigEndian.PutUint16(b[34:], 64000)
	copy(b[40:], data)
	return b
}

const (
	flagSYN, flagRST, flagPSH, flagACK = 2, 4, 8, 16
	request                            = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
)

// opening is a handshake and a request, at a time.
func opening(n uint16, ms int64) []timed {
	return []timed{
		{ms, segment(n, false, 100, 0, flagSYN, "")},
		{ms + 1, segment(n, true, 500, 101, flagSYN|flagACK, "")},
		{ms + 2, segment(n, false, 101, 501, flagACK, "")},
		{ms + 3, segment(n, false, 101, 501, flagPSH|flagACK, request)},
	}
}

func answering(n uint16, ms int64) timed {
	return timed{ms, segment(n, true, 501, 101+uint32(len(request)), flagPSH|flagACK, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")}
}

// runLive starts a live run and returns a function that ends it.
func runLive(t *testing.T, src *scripted, opt Options, emit func(finding.Finding)) func() *Result {
	t.Helper()
	opt.Live, opt.Workers = true, 2
	type outcome struct {
		res *Result
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		res, err := Run(t.Context(), src, opt, emit)
		done <- outcome{res, err}
	}()
	return func() *Result {
		close(src.batches)
		o := <-done
		if o.err != nil {
			t.Error(o.err)
		}
		return o.res
	}
}

// moment asks for the result so far; an empty batch moves the run on, as a live
// source's heartbeat does.
func moment(t *testing.T, src *scripted, moments chan<- func(*Result), clock int64) *Result {
	t.Helper()
	got := make(chan *Result, 1)
	moments <- func(r *Result) { got <- r }
	for {
		src.give(t, clock, false)
		select {
		case r := <-got:
			return r
		default:
		}
	}
}

// TestMomentHasOpenConnections: what is open has a summary, an idle clock moves
// on without frames, and a connection without an answer is told while it waits.
func TestMomentHasOpenConnections(t *testing.T) {
	t.Parallel()
	src, moments := newScripted(), make(chan func(*Result), 1)
	var emitted atomic.Int64
	end := runLive(t, src, Options{Moments: moments, IdleTimeout: 60 * second}, func(finding.Finding) { emitted.Add(1) })
	src.give(t, 0, false, opening(1, 1000)...)
	src.give(t, 0, false, timed{1500, segment(2, false, 7, 0, flagSYN, "")}, timed{1501, segment(2, true, 0, 8, flagRST|flagACK, "")})
	r := moment(t, src, moments, 3000)
	if r.Open != 2 || len(r.Standing) != 2 || r.Packets != 6 {
		t.Errorf("%d open, %d standing, %d packets", r.Open, len(r.Standing), r.Packets)
	}
	if s := r.Connections[0]; s.End != conn.EndOpen || s.Server.Addr.Port() != 80 || s.CommunityID == "" {
		t.Errorf("the open connection: %+v", s)
	}
	if len(r.Findings) == 0 || r.Connection(r.Findings[0].Flow) == nil || emitted.Load() == 0 {
		t.Errorf("the refusal is not told: %+v", r.Findings)
	}
	for range 100 { // batches of the earlier clock may still be on their way
		if r = moment(t, src, moments, 200_000); r.Open == 0 {
			break
		}
	}
	if r.Open != 0 { // silent for longer than the timeout
		t.Errorf("%d open after the timeout", r.Open)
	}
	if r = end(); r.TCPConversations != 2 {
		t.Errorf("%d conversations", r.TCPConversations)
	}
}

// TestClockJumpMakesNoFindings: an answer an hour after the question, because the
// machine slept or the clock was set, is nobody's fault.
func TestClockJumpMakesNoFindings(t *testing.T) {
	t.Parallel()
	for _, broken := range []bool{false, true} {
		src := newScripted()
		end := runLive(t, src, Options{}, nil)
		src.give(t, 0, false, opening(1, 1000)...)
		src.give(t, 0, broken, answering(1, 3_600_000))
		r := end()
		worst := int64(0)
		for i := range r.Connections {
			worst = max(worst, r.Connections[i].Score)
		}
		if slow := worst > 1000*second; slow == broken {
			t.Errorf("jump told: %v, time lost: %d s", broken, worst/second)
		}
	}
}

// TestPressureLeavesPayloadUnread: the state of connections goes on, payload is
// counted, and what was left out stands in the result.
func TestPressureLeavesPayloadUnread(t *testing.T) {
	t.Parallel()
	var pressure atomic.Bool
	pressure.Store(true)
	src := newScripted()
	end := runLive(t, src, Options{Pressure: &pressure}, nil)
	src.give(t, 0, false, append(opening(1, 1000), answering(1, 1010))...)
	r := end()
	if r.Unread != 1 && r.Unread != 2 || len(r.NotAssessed) == 0 {
		t.Errorf("%d unread: %v", r.Unread, r.NotAssessed)
	}
	if r.Protocols["http"] != 0 || r.TCPConversations != 1 || !r.Connections[0].Established {
		t.Errorf("http in %d frames, connections %+v", r.Protocols["http"], r.Connections)
	}
}

// TestOldestFindingsMakeRoom: a run of months tells what is new.
func TestOldestFindingsMakeRoom(t *testing.T) {
	t.Parallel()
	c := newCollector(Options{Live: true, MaxSummaries: 1}, newPipeline(Options{Workers: 1, Live: true}, newKeyLog()), nil)
	for i := range 3 * maxLiveFindings {
		f := finding.Finding{Code: "tcp.reset", Severity: finding.Notice}
		if i == 0 {
			f.Severity = finding.Critical
		}
		f.Evidence.Add(uint64(i+1), int64(i))
		c.find(-1, f)
	}
	all := c.joined()
	if len(all) > maxLiveFindings || all[0].Evidence.First != 1 || all[len(all)-1].Evidence.Last != 3*maxLiveFindings {
		t.Errorf("%d findings, from frame %d to %d", len(all), all[0].Evidence.First, all[len(all)-1].Evidence.Last)
	}
	for i := range c.finds.Len() {
		f := c.finds.At(i)
		if at, ok := c.finds.get(c.findKey(-1, c.kind(f.Code), f)); !ok || at != i {
			t.Fatalf("the finding of frame %d is looked for in place %d, not %d", f.Evidence.First, at, i)
		}
	}
	if c.finds.places.Len() != c.finds.Len() {
		t.Errorf("%d keys for %d findings", c.finds.places.Len(), c.finds.Len())
	}
}
