package text

import (
	"fmt"
	"sort"
	"strings"

	"netwhy/analyze/conn"
	"netwhy/analyze/flow"
	"netwhy/cmd/netwhy/internal/report/figures"
	"netwhy/cmd/netwhy/internal/terminal"
)

// maxWorst is the length of the table of connections.
const maxWorst = 5

// Columns of the table; with the spaces between them they make 80.
const (
	colID    = 9
	colConn  = 37
	colLost  = 7
	colRTT   = 7
	colAgain = 6
	colEnd   = 9
)

func (p *page) worst() {
	if len(p.r.Worst) == 0 {
		return
	}
	p.b.WriteString("\n" + p.paint.As(terminal.Bold, p.say.worst) + "\n")
	p.row(terminal.Dim, p.say.headID, p.say.headConn, p.say.headLost, p.say.headRTT, p.say.headAgain, p.say.headEnd)
	for i := range min(maxWorst, len(p.r.Worst)) {
		s := &p.r.Worst[i]
		client, server := s.Client.Addr.String(), s.Server.Addr.String()
		rtt := "-"
		if ns := roundTrip(s); ns > 0 {
			rtt = figures.Seconds(ns)
		}
		lost := "-"
		if s.Score > 0 {
			lost = figures.Seconds(s.Score)
		}
		again := figures.Grouped(int64(s.Client.Retransmits) + int64(s.Server.Retransmits))
		id := fmt.Sprintf("%s %d", s.Proto, s.ID.Stream)
		pair, rest := client+" → "+server, ""
		if terminal.Width(pair) > colConn {
			pair, rest = client, "→ "+server
		}
		p.row(terminal.Plain, id, pair, lost, rtt, again, word(p.say.end, string(s.End)))
		if rest != "" {
			p.b.WriteString(strings.Repeat(" ", colID+1) + terminal.Printable(rest) + "\n")
		}
	}
}

func (p *page) row(st terminal.Style, id, pair, lost, rtt, again, end string) {
	line := pad(terminal.Clip(id, colID), colID) + " " + pad(terminal.Clip(pair, colConn), colConn) + " " +
		padLeft(lost, colLost) + " " + padLeft(rtt, colRTT) + " " + padLeft(again, colAgain) + " " + terminal.Clip(end, colEnd)
	p.b.WriteString(p.paint.As(st, strings.TrimRight(line, " ")) + "\n")
}

func roundTrip(s *conn.Summary) int64 {
	switch {
	case s.Handshake > 0:
		return s.Handshake
	case s.ID.Proto != flow.TCP:
		return 0
	case s.Client.RTT.Median > 0 && s.Server.RTT.Median > 0: // the two halves, as the tap sees them
		return s.Client.RTT.Median + s.Server.RTT.Median
	}
	return max(s.Client.RTT.Median, s.Server.RTT.Median)
}

// foot tells what the verdict rests on: what was looked at, what could not be
// judged, and how far the capture can be believed.
func (p *page) foot() {
	if p.r.Source.Packets == 0 {
		return
	}
	p.b.WriteByte('\n')
	p.footLine(p.say.lookedAt, p.lookedAt())
	p.footLine(p.say.notJudged, p.notJudged())
	p.footLine(p.say.trust, p.trust())
	if h := p.r.Hidden; h.Findings > 0 || h.Diagnoses > 0 {
		p.footLine("", fmt.Sprintf(p.say.hidden, h.Findings, h.Diagnoses))
	}
}

const footWidth = 12

func (p *page) footLine(label, s string) {
	if s == "" {
		return
	}
	first := p.paint.As(terminal.Cyan, label) + strings.Repeat(" ", max(1, footWidth-terminal.Width(label)))
	p.lines(first, strings.Repeat(" ", footWidth), terminal.Plain, s)
}

func (p *page) lookedAt() string {
	c := &p.r.Counters
	var out []string
	count := func(format string, n uint64) {
		if n > 0 {
			out = append(out, fmt.Sprintf(format, figures.Grouped(int64(n)))) //nolint:gosec // a count of packets
		}
	}
	out = append(out, p.protocols()...)
	count(p.say.resent, c.TCP["retransmission"]+c.TCP["fast_retransmission"]+c.TCP["spurious_retransmission"])
	count(p.say.resets, c.TCP["reset"])
	count(p.say.answers, sum(c.DNSRcode))
	count(p.say.responses, sum(c.HTTPStatus))
	count(p.say.alerts, sum(c.TLSAlert))
	count(p.say.icmpMessages, sum(c.ICMP)+sum(c.ICMPv6))
	return strings.Join(out, ", ")
}

// protocols names the most common, with their packets.
func (p *page) protocols() []string {
	type entry struct {
		name string
		n    uint64
	}
	counts := map[string]uint64{}
	for name, n := range p.r.Counters.Protocols {
		if said := spoken(name); said != "" {
			counts[said] += n
		}
	}
	for _, s := range p.r.Connections { // on ports where the counters, which go by Wireshark's, do not see them
		if said := spoken(s.App); said != "" && p.r.Counters.Protocols[s.App] == 0 {
			counts[said] += s.Client.Packets + s.Server.Packets
		}
	}
	all := make([]entry, 0, len(counts))
	for name, n := range counts {
		all = append(all, entry{name, n})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].n > all[j].n || all[i].n == all[j].n && all[i].name < all[j].name })
	const most = 8
	var out []string
	for i, e := range all {
		if i == most {
			out = append(out, "…")
			break
		}
		out = append(out, e.name+" "+figures.Grouped(int64(e.n))) //nolint:gosec // a count of packets
	}
	return out
}

func sum(m map[string]uint64) uint64 {
	var n uint64
	for _, v := range m {
		n += v
	}
	return n
}

func (p *page) notJudged() string {
	var list []string
	for _, line := range p.r.NotAssessed {
		list = append(list, p.words.NotAssessed(line))
	}
	if n := p.r.Source.Undecoded; n > 0 {
		list = append(list, fmt.Sprintf(p.say.undecoded, figures.Grouped(int64(n)))) //nolint:gosec // a count of frames
	}
	return strings.Join(list, "; ")
}

func (p *page) trust() string {
	t := &p.r.Trust
	var out []string
	if where, ok := p.say.vantage[t.Vantage]; ok {
		out = append(out, fmt.Sprintf(p.say.taken, where))
	}
	count := func(format string, n uint64) {
		if n > 0 {
			out = append(out, fmt.Sprintf(format, figures.Grouped(int64(n)))) //nolint:gosec // a count of packets
		}
	}
	count(p.say.copies, t.Duplicates)
	count(p.say.reversals, t.TimeReversals)
	count(p.say.gaps, t.Gaps)
	count(p.say.midStream, t.BeginsMidConnection)
	if t.OneSided {
		out = append(out, p.say.oneSided)
	}
	if t.Offload {
		out = append(out, p.say.offload)
	}
	return strings.Join(out, "; ")
}
