package run

import (
	"context"
	"fmt"
	"slices"
	"time"

	"netwhy/analyze"
	"netwhy/analyze/finding"
	"netwhy/capture"
	"netwhy/cmd/netwhy/internal/terminal"
	"netwhy/rules"
)

// A large capture takes minutes, and its beginning often tells already what is
// wrong. So the first frames are analysed apart, beside the whole, and what the
// rules say of them is shown above the progress bar, called what it is.
const (
	provisionalFrom   = 64 << 20 // bytes of a capture that is worth it
	provisionalFrames = 50_000
	provisionalAfter  = 300 * time.Millisecond // a capture that is done by then needs no foretaste
)

// provisional returns the line about the first frames, or "" where there is
// nothing to say.
func provisional(ctx context.Context, opt *Options, set func() (*rules.Set, error), size int64) string {
	if size < provisionalFrom || slices.Contains(opt.Files, "-") {
		return ""
	}
	wait := time.NewTimer(provisionalAfter)
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return ""
	case <-wait.C:
	}
	judge, err := set()
	if err != nil { // the run itself will tell
		return ""
	}
	src, err := capture.Open(ctx, opt.Files, capture.Options{Filter: opt.Filter, MaxPackets: provisionalFrames})
	if err != nil {
		return ""
	}
	defer src.Close()
	res, err := analyze.Run(ctx, src, analyze.Options{Workers: 1, MaxConnections: provisionalFrames}, nil)
	if err != nil || res.Packets == 0 {
		return ""
	}
	said, _ := judge.Diagnose(Judged(res), rules.Options{Lang: string(opt.Lang)})
	zh := opt.Lang == "zh"
	for i := range said {
		if said[i].Severity < max(opt.MinSeverity, finding.Warning) {
			continue
		}
		format := "so far, of the first %d frames: %s"
		if zh {
			format = "初步（前 %d 个帧）：%s"
		}
		return terminal.Printable(fmt.Sprintf(format, res.Packets, said[i].Title))
	}
	if zh {
		return fmt.Sprintf("初步：前 %d 个帧中尚未发现故障原因", res.Packets)
	}
	return fmt.Sprintf("so far, of the first %d frames: no cause of trouble found", res.Packets)
}
