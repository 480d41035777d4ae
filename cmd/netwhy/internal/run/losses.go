package run

import (
	"slices"
	"strings"
	"time"

	"netwhy/analyze/finding"
	"netwhy/capture"
	"netwhy/cmd/netwhy/internal/config"
	"netwhy/cmd/netwhy/internal/report"
	"netwhy/rules"
)

// nearLoss is how far from a loss a symptom may lie that it has caused: an answer
// that was not captured is missed from its question on, and people wait so long.
const nearLoss = 10 * time.Second

// doubt says next to each finding that frames which the capture itself lost may
// have caused it: when the finding tells that something is missing, and frames
// were lost at its time. Files do not tell when; there it is all of them.
func doubt(r *report.Report, info *capture.Info, set *rules.Set, lang config.Lang) {
	c := &info.Counters
	if c.DroppedKernel+c.DroppedInterface+c.DroppedQueue == 0 {
		return
	}
	doubtful := doubtfulCodes(set)
	for i := range r.Findings {
		f := &r.Findings[i]
		if !doubtful[finding.Code(f.Code)] && !tellsAbsence(f.Code) {
			continue
		}
		from, to := int64(f.Start)-int64(nearLoss), int64(f.End)+int64(nearLoss)
		hit := info.Kind != capture.KindLive || slices.ContainsFunc(info.Losses, func(x capture.Loss) bool { return x.From <= to && x.To >= from })
		if hit {
			f.Caveats = append(f.Caveats, lossCaveat(lang))
		}
	}
}

func lossCaveat(lang config.Lang) string {
	if lang == config.Chinese {
		return "抓包在此时丢失了数据帧：这里缺少的内容可能曾出现在网络上"
	}
	return "the capture lost frames at this time: what is missing here may have been on the wire"
}

// doubtfulCodes are those that wake a rule which distrusts a capture with drops.
func doubtfulCodes(set *rules.Set) map[finding.Code]bool {
	codes := map[finding.Code]bool{}
	for _, r := range set.Rules() {
		if slices.Contains(r.Distrust, rules.Drops) {
			for _, c := range r.On {
				codes[c] = true
			}
		}
	}
	return codes
}

// absences are parts of the names of codes that tell of something missing.
var absences = [...]string{ //nolint:gochecknoglobals // constant table
	"no-answer", "no-response", "no-offer", "no-return", "no-querier", "unanswered", "not-answered", "not-taken", "not-sent",
	"loss", "lost", "gap", "stall", "stuck", "retry", "-cut", ".down", "stopped", "continuity", "timeout", "one-sided", "mid-stream",
}

func tellsAbsence(code string) bool {
	return slices.ContainsFunc(absences[:], func(part string) bool { return strings.Contains(code, part) })
}
