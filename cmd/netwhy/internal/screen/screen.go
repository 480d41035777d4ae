// Package screen shows a live run on a terminal: traffic and drops over time, who
// talks most, which services are slow, and the diagnoses with their proof.
//
// It reads snapshots and changes nothing but itself. What comes from packets is
// escaped before it is drawn. The terminal is given back when the program of the
// screen ends, however it ends.
package screen

import (
	"context"
	"errors"
	"io"
	"sync"
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
	Quit       func() // the user wants to end with the report
	Interrupt  func() // the user pressed ctrl+c
}

// Screen is a running screen.
type Screen struct {
	program *tea.Program
	done    sync.WaitGroup
	err     error
}

// Start takes the terminal. Stop gives it back.
func Start(ctx context.Context, opt Options) *Screen {
	m := newModel(opt)
	s := &Screen{program: tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(opt.In), tea.WithOutput(opt.Out),
		tea.WithEnvironment(opt.Environ), tea.WithoutSignalHandler(), tea.WithFPS(framesPerSecond))}
	s.done.Go(func() {
		_, err := s.program.Run()
		if err != nil && !errors.Is(err, tea.ErrProgramKilled) {
			s.err = err
			opt.Interrupt() // the terminal is gone, and nobody can see or stop the run any more
		}
	})
	return s
}

// framesPerSecond are enough for figures that change once a second, and for keys.
const framesPerSecond = 20

// Show shows a newer snapshot.
func (s *Screen) Show(x *Snapshot) { s.program.Send(x) }

// Line shows a line of the log.
func (s *Screen) Line(text string) { s.program.Send(logLine(text)) }

// Stop ends the screen and returns when the terminal is as it was. An error
// means that the screen had ended before, by itself.
func (s *Screen) Stop() error {
	s.program.Quit()
	s.done.Wait()
	return s.err
}

type logLine string
