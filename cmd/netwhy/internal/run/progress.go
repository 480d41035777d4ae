package run

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/schollz/progressbar/v3"

	"netwhy/capture"
	"netwhy/cmd/netwhy/internal/config"
)

// A progress bar comes after a second, when somebody begins to wonder, and is
// drawn a few times a second.
const (
	progressAfter = time.Second
	progressEvery = 200 * time.Millisecond
)

// progress shows how far a source is, on a terminal.
type progress struct {
	done   chan struct{}
	said   chan string // lines to show above the bar
	format string      // of the number of packets and their rate
	wg     sync.WaitGroup
}

// startProgress begins to watch a source; first, if not nil, gives a line to show
// above the bar. stop waits until the bar is gone.
func startProgress(ctx context.Context, w io.Writer, src capture.Source, language config.Lang, first func(context.Context) string) *progress {
	p := &progress{done: make(chan struct{}), said: make(chan string, 1), format: "%s packets, %s/s"}
	if language == config.Chinese {
		p.format = "%s 个报文，每秒 %s"
	}
	if first != nil {
		own, cancel := context.WithCancel(ctx)
		p.wg.Go(func() {
			<-p.done
			cancel()
		})
		p.wg.Go(func() {
			if line := first(own); line != "" && own.Err() == nil {
				p.said <- line
			}
		})
	}
	p.wg.Go(func() { p.watch(ctx, w, src) })
	return p
}

func (p *progress) stop() {
	close(p.done)
	p.wg.Wait()
}

func (p *progress) watch(ctx context.Context, w io.Writer, src capture.Source) {
	t := time.NewTimer(progressAfter)
	defer t.Stop()
	select {
	case <-p.done:
		return
	case <-ctx.Done():
		return
	case <-t.C:
	}
	size := src.Progress().Size
	bar := progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(w), progressbar.OptionShowBytes(true), progressbar.OptionShowTotalBytes(true),
		progressbar.OptionSetWidth(20), progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(true),
		progressbar.OptionSetRenderBlankState(true))
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	begun := time.Now().Add(-progressAfter)
	for {
		at := src.Progress()
		rate := float64(at.Packets) / time.Since(begun).Seconds()
		bar.Describe(fmt.Sprintf(p.format, humanize.SIWithDigits(float64(at.Packets), 1, ""), humanize.SIWithDigits(rate, 1, "")))
		// A terminal that is gone is no reason to stop the analysis.
		if size > 0 {
			_ = bar.Set64(min(at.Read, size-1)) // at its full size the bar would call itself finished
		} else {
			_ = bar.Set64(at.Read)
		}
		select {
		case <-p.done:
			_ = bar.Clear()
			return
		case <-ctx.Done():
			_ = bar.Clear()
			return
		case line := <-p.said:
			_ = bar.Clear()
			_, _ = fmt.Fprintln(w, line)
		case <-tick.C:
		}
	}
}
