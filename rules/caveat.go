package rules

import "netwhy/analyze/conn"

// Weakness is a way in which a capture can mislead a rule.
type Weakness uint8

// Weaknesses that a rule can distrust.
const (
	Gaps       Weakness = iota // segments acknowledged but not captured
	Drops                      // the capture itself lost frames
	Duplicates                 // mirrored copies
	OneSided                   // one direction only
	MidStream                  // begins inside connections
	TimeJumps                  // time goes back
	Snapped                    // frames cut short
)

func weaknessNames() []string {
	return []string{"gaps", "drops", "duplicates", "one-sided", "mid-stream", "time", "snapped"}
}

func (w Weakness) String() string { return weaknessNames()[w] }

// weaknessCost is the factor by which each weakness that a rule distrusts lowers
// its confidence: one is a reservation, three make it a guess.
const weaknessCost = 0.85

// met reports whether the capture has the weakness, as far as a conversation is
// concerned; c may be nil.
func (w Weakness) met(t *conn.Trust, c *conn.Summary) bool {
	switch w {
	case Gaps:
		return t.Gaps > 0 && (c == nil || c.Client.LostSegments+c.Server.LostSegments > 0)
	case Drops:
		return t.Dropped > 0
	case Duplicates:
		return t.Duplicates > 0
	case OneSided:
		return t.OneSided || c != nil && c.OneSided
	case MidStream:
		return c != nil && c.MidStream
	case TimeJumps:
		return t.TimeReversals > 0
	case Snapped:
		return t.Snapped > 0
	default:
		return false
	}
}

// caveat is the sentence for a weakness.
func (w Weakness) caveat(lang string) string {
	if lang == Chinese {
		return [...]string{
			"抓包中缺少对端已确认的报文段：缺口不等于网络丢包",
			"抓包过程自身丢失了数据帧：缺口不等于网络丢包",
			"抓包中有镜像端口产生的重复帧；每帧只计一次",
			"只抓到一个方向的流量：另一方向的情况是推断的",
			"抓包从连接中途开始：此前发生的情况未知",
			"抓包的时间戳有回退：时长可能不准确",
			"数据帧被截断长度（snaplen）截断：只能看到部分内容",
		}[w]
	}
	return [...]string{
		"the capture lacks segments that the other end acknowledged: a gap in it is not a loss in the network",
		"the capture itself lost frames: a gap in it is not a loss in the network",
		"the capture holds copies made by a mirror port; each frame is counted once",
		"one direction only was captured: what the other did is inferred",
		"the capture begins inside the connection: what went before is unknown",
		"time goes back in the capture: durations may be wrong",
		"frames were cut by the snaplen: only a part of their content was seen",
	}[w]
}
