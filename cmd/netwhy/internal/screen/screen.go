// Package screen shows a live run on a terminal: traffic and drops over time, who
// talks most, which services are slow, and the diagnoses with their proof.
//
// It reads snapshots and changes nothing but itself. What comes from packets is
// escaped before it is drawn.
//
// # Nobody waits for a terminal
//
// A terminal may stop taking what is written, as that of a stalled ssh does. Show
// and Line therefore only leave a note, of which the latest counts; Stop gives up
// after a while. The terminal is given back when the program of the screen ends,
// however it ends; when the whole process dies, terminal.Guard does it.
package screen

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"netwhy/cmd/netwhy/internal/report"
)

// Snapshot is what is shown, at one moment.
type Snapshot struct {
	At                       time.Time
	Packets, Bytes           uint64
	Kernel, Interface, Queue uint64 // drops
	Used, Size               int    // batches under way, and that can be
	Open                     uint64 // conversations in memory
	Unread                   uint64
	Talkers                  []Talker
	Services                 []Service
	Report                   *report.Report
	AI                       string // state of the model and its breaker, one line
	Recording                string // one line; empty: nothing is recorded
}

// Talker is a host and what it sent and got.
type Talker struct {
	Host, Name string
	Bytes      uint64
	Rate       float64 // bytes a second
}

// Service is a server's port and how long it takes.
type Service struct {
	Addr, App, Name string
	Exchanges       uint64
	Mean, Worst     time.Duration // of the time before an answer begins
	Failed          uint64
}

// Options of the screen.
type Options struct {
	In         io.Reader
	Out        io.Writer
	Environ    []string
	Interfaces string // names, for the head
	Colour     bool
	Quit       func()      // the user wants to end with the report
	Interrupt  func()      // the user pressed ctrl+c
	Failed     func(error) // the screen ended by itself: by a fault of ours, or with the terminal
}

// Screen is a running screen.
type Screen struct {
	program *tea.Program
	latest  atomic.Pointer[Snapshot]
	line    atomic.Pointer[string]
	news    chan struct{} // something is there to show
	kill    context.CancelFunc
	ended   chan struct{} // the terminal is as it was
	group   sync.WaitGroup
}

// Start takes the terminal. Stop gives it back.
func Start(ctx context.Context, opt Options) *Screen {
	ctx, kill := context.WithCancel(ctx)
	s := &Screen{news: make(chan struct{}, 1), kill: kill, ended: make(chan struct{})}
	s.program = tea.NewProgram(newModel(opt), tea.WithContext(ctx), tea.WithInput(opt.In), tea.WithOutput(opt.Out),
		tea.WithEnvironment(opt.Environ), tea.WithoutSignalHandler(), tea.WithFPS(framesPerSecond))
	s.group.Go(func() {
		_, err := s.program.Run()
		close(s.ended)
		if err != nil && ctx.Err() == nil {
			opt.Failed(err)
		}
	})
	s.group.Go(s.hand)
	return s
}

// framesPerSecond are enough for figures that change once a second, and for keys.
const framesPerSecond = 20

// Show shows a newer snapshot. It never waits.
func (s *Screen) Show(x *Snapshot) {
	s.latest.Store(x)
	s.tell()
}

// Line shows a line of the log. It never waits.
func (s *Screen) Line(text string) {
	s.line.Store(&text)
	s.tell()
}

func (s *Screen) tell() {
	select {
	case s.news <- struct{}{}:
	default: // what is there is taken together
	}
}

// hand hands on what there is to show, as fast as the terminal takes it.
func (s *Screen) hand() {
	for {
		select {
		case <-s.ended:
			return
		case <-s.news:
		}
		if x := s.latest.Swap(nil); x != nil {
			s.program.Send(x)
		}
		if text := s.line.Swap(nil); text != nil {
			s.program.Send(logLine(*text))
		}
	}
}

// patience is how long Stop waits for the terminal, twice.
const patience = 500 * time.Millisecond

var errStuck = errors.New("the terminal does not take what is written to it")

// Stop ends the screen and returns when the terminal is as it was, or when it
// cannot be reached.
func (s *Screen) Stop() error {
	s.group.Go(s.program.Quit)
	for _, next := range []func(){s.kill, func() {}} {
		timer := time.NewTimer(patience)
		select {
		case <-s.ended:
			timer.Stop()
			s.kill()
			s.group.Wait()
			return nil
		case <-timer.C:
			next()
		}
	}
	return errStuck
}

type logLine string
