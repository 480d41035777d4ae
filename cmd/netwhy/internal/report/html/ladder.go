package html

import (
	"fmt"
	"html/template"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"netwhy/analyze/flow"
	"netwhy/analyze/tcp"
	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/terminal"
	"netwhy/cmd/netwhy/internal/trace"
)

type slot = trace.Slot

const protoTCP = flow.TCP

// Bounds and sizes of a ladder, in units of its view box.
const (
	maxRows    = 44
	maxLives   = 6
	maxPlots   = 3
	ladderWide = 940
	ladderLeft = 150
	ladderEdge = 690
	ladderTop  = 34
	rowHigh    = 26
	gapHigh    = 20
	maxNote    = 34   // columns
	letter     = 7    // width of one column
	waitShare  = 0.15 // of the whole: a pause that is worth a word
)

// ladderRow is one frame of the table beside the ladder.
type ladderRow struct {
	Frame              uint64
	At, From, To, What string
	Proof              string // ids of the findings it proves
	Bad                bool
}

// exhibits are the frames of a diagnosis' ladder: its proof, and the beginning
// and end of its worst connection.
func (g *page) exhibits(d *report.Diagnosis) []trace.Exhibit {
	numbers := slices.Clone(d.Frames)
	if len(d.Connections) > 0 {
		if _, t := g.traceOf(&d.Connections[0]); t != nil {
			numbers = append(numbers, g.r.ConnectionFrames(t.ID)...)
		}
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	if extra := len(numbers) - maxRows; extra > 0 { // the proof stays, and the first of the rest
		numbers = slices.DeleteFunc(numbers, func(n uint64) bool {
			if extra > 0 && !slices.Contains(d.Frames, n) && n != numbers[0] {
				extra--
				return true
			}
			return false
		})
		numbers = numbers[:min(len(numbers), maxRows)]
	}
	var out []trace.Exhibit
	for _, n := range numbers {
		if x, ok := g.r.Exhibits[n]; ok && x.From != "" {
			out = append(out, x)
		}
	}
	return out
}

// ladder draws who sent what to whom, time downwards.
func (g *page) ladder(d *report.Diagnosis) (template.HTML, []ladderRow) {
	list := g.exhibits(d)
	if len(list) == 0 {
		return "", nil
	}
	lives, of := lifelines(list, d)
	step := float64(ladderEdge-ladderLeft) / float64(max(1, len(lives)-1))
	x := func(i int) float64 { return ladderLeft + step*float64(i) }
	whole := list[len(list)-1].Time - list[0].Time
	var body drawing
	var rows []ladderRow
	y := float64(ladderTop + rowHigh)
	for i := range list {
		e := &list[i]
		if i > 0 {
			y += g.pause(&body, &list[i-1], e, y, whole)
		}
		row := ladderRow{
			Frame: e.Number, At: seconds(report.Seconds(e.Time - list[0].Time)), From: terminal.Printable(e.From), To: terminal.Printable(e.To),
			What: terminal.Printable(g.what(e)), Proof: g.proves(d, e.Number), Bad: bad(e),
		}
		rows = append(rows, row)
		class := "msg"
		if row.Proof != "" {
			class = "msg proof"
		}
		if row.Bad {
			class = "msg bad"
		}
		arrow(&body, x(of(e.From)), x(of(e.To)), y, class)
		from, to := x(of(e.From)), x(of(e.To))
		if width := float64(terminal.Width(row.What)) * letter; width < max(from, to)-min(from, to) {
			body.text((from+to)/2, y-4, class+" mid", row.What)
		} else { // to the right, where there is room
			body.text(min(from, to)+6, y-4, class, row.What)
		}
		body.text(4, y+4, "tick", row.At)
		body.text(ladderLeft-12, y+4, "tick end", strconv.FormatUint(e.Number, 10))
		body.text(ladderEdge+14, y+4, "note", terminal.Clip(row.Proof, maxNote))
		y += rowHigh
	}
	var s drawing
	s.open(ladderWide, int(y), "ladder", fmt.Sprintf(g.P.LadderAlt, len(list), strings.Join(lives, ", ")))
	s.text(4, 14, "head", g.P.At)
	s.text(ladderLeft-12, 30, "head end", g.P.Frame)
	for i, name := range lives {
		s.text(x(i), 14, "head mid", name)
		s.line(x(i), ladderTop-12, x(i), y-8, "life")
	}
	s.b.WriteString(body.b.String())
	return s.close(), rows
}

// pause leaves room between two frames that do not follow each other, and names
// the time where it was long. It returns the height that it took.
func (g *page) pause(d *drawing, a, b *trace.Exhibit, y float64, whole int64) float64 {
	wait := b.Time - a.Time
	long := whole > 0 && float64(wait) > waitShare*float64(whole)
	skipped := b.Number - a.Number - 1
	if !long && skipped == 0 {
		return 0
	}
	label := ""
	if long {
		d.rect(ladderLeft-4, y-rowHigh+8, ladderEdge-ladderLeft+8, gapHigh, "wait", "")
		label = seconds(report.Seconds(wait))
	}
	if skipped > 0 {
		label = strings.TrimPrefix(label+"   "+fmt.Sprintf(g.P.Skipped, skipped), "   ")
	}
	d.text((ladderLeft+ladderEdge)/2, y-rowHigh/2+9, "pause mid", label)
	return gapHigh
}

func arrow(d *drawing, from, to, y float64, class string) {
	d.line(from, y, to, y, class)
	const head = 7
	tip := -1.0
	if to < from {
		tip = 1
	}
	if from == to {
		return
	}
	fmt.Fprintf(&d.b, `<path class="%s tip" d="M%.1f,%.1f l%.1f,-4 v8 z"/>`, class, to, y, tip*head)
}

// lifelines names the columns: the ends of the connection where there is one,
// else the hosts in the order of appearance.
func lifelines(list []trace.Exhibit, d *report.Diagnosis) (names []string, of func(string) int) {
	short := host
	if len(d.Connections) == 1 {
		c := &d.Connections[0]
		if !slices.ContainsFunc(list, func(e trace.Exhibit) bool {
			return e.From != c.Client && e.From != c.Server || e.To != c.Client && e.To != c.Server
		}) {
			short = func(s string) string { return s }
			names = []string{c.Client, c.Server}
		}
	}
	for i := range list {
		for _, n := range []string{short(list[i].From), short(list[i].To)} {
			if n != "" && !slices.Contains(names, n) && len(names) < maxLives {
				names = append(names, n)
			}
		}
	}
	return names, func(s string) int { return max(0, slices.Index(names, short(s))) }
}

// host takes the port away.
func host(s string) string {
	if a, err := netip.ParseAddrPort(s); err == nil {
		return a.Addr().String()
	}
	return s
}

func (g *page) what(e *trace.Exhibit) string {
	var s strings.Builder
	s.WriteString(e.Label)
	if e.Len > 0 {
		fmt.Fprintf(&s, ", %d B", e.Len)
	}
	for i, name := range tcp.CounterNames {
		if m := tcp.Marks(1) << i; e.Marks.Has(m) && m != tcp.Reset {
			s.WriteString(", " + strings.ReplaceAll(g.words.Value("mark", name), "_", " "))
		}
	}
	return s.String()
}

func bad(e *trace.Exhibit) bool {
	const trouble = tcp.Again | tcp.LostSegment | tcp.ZeroWindow | tcp.WindowFull | tcp.Reset | tcp.OutOfOrder
	return e.Marks.Has(trouble) || e.Flags&tcp.FlagRST != 0 && strings.Contains(e.Label, "RST")
}

func (g *page) proves(d *report.Diagnosis, frame uint64) string {
	var ids []string
	for _, id := range d.Evidence {
		if f := g.r.FindingByID(id); f != nil && slices.Contains(f.Frames, frame) && len(ids) < 3 {
			ids = append(ids, f.ID+" "+f.Code)
		}
	}
	return terminal.Printable(strings.Join(ids, ", "))
}

// traceOf finds the frames of a connection.
func (g *page) traceOf(c *report.Connection) (key string, t *trace.Trace) {
	id := flow.ID{Proto: flow.TCP, Stream: c.Stream}
	if c.Proto == "udp" {
		id.Proto = flow.UDP
	}
	return c.Proto + strconv.FormatUint(uint64(c.Stream), 10), g.r.Traces[id]
}
