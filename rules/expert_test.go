package rules_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"netwhy/rules"
	"netwhy/rules/diagnosis"
)

// TestAccuracy prints README's table of accuracy: what the rules say of the
// labelled captures, and what tshark's expert info says of the same ones. It
// takes some minutes: NETWHY_ALL=1 runs it (make accuracy).
//
// Expert info names no causes. A message counts here as every cause that shows
// it: a reset names whoever cut the connection off, a retransmission names loss as
// well as silence. Its order is severity, then frequency.
func TestAccuracy(t *testing.T) {
	t.Parallel()
	if os.Getenv("NETWHY_ALL") == "" {
		t.Skip("takes some minutes; NETWHY_ALL=1 runs it")
	}
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Fatalf("the comparison needs tshark: %v", err)
	}
	var b strings.Builder
	for _, set := range []struct {
		name  string
		score *rules.Score
	}{
		{"lab", judged(t, shared(t, "lab"))},
		{"corpus", corpusScore(t)},
	} {
		x := expert(t, shared(t, set.name), set.score)
		s := set.score
		fmt.Fprintf(&b, "| %s: cause named first | %s | %s |\n", set.name, percent(s.First, s.Faulty), percent(x.First, x.Faulty))
		fmt.Fprintf(&b, "| %s: cause among the first three | %s | %s |\n", set.name, percent(s.Three, s.Faulty), percent(x.Three, x.Faulty))
		if set.name == "lab" { // the corpus does not say who is to blame
			fmt.Fprintf(&b, "| %s: right culprit, of those | %s | never named |\n", set.name, percent(s.Party, s.Three))
		}
		fmt.Fprintf(&b, "| %s: healthy, but told of a warning | %d of %d | %d of %d |\n", set.name, s.FalseAlarms, s.Healthy, x.FalseAlarms, x.Healthy)
	}
	t.Logf("\n| | netwhy | tshark's expert info |\n| --- | --- | --- |\n%s", b.String())
}

func percent(n, of int) string {
	return fmt.Sprintf("%d of %d (%.0f %%)", n, of, 100*float64(n)/float64(max(of, 1)))
}

// expert scores tshark's expert info over the cases of a score.
func expert(t *testing.T, dir string, of *rules.Score) *rules.Score {
	t.Helper()
	var x rules.Score
	for i := range of.Cases {
		c := &of.Cases[i]
		out, err := exec.CommandContext(t.Context(), "tshark", "-r", filepath.Join(dir, c.Name), "-q", "-z", "expert,note").Output()
		if err != nil {
			t.Logf("tshark: %s: %v", c.Name, err) // a damaged file: what came before counts
		}
		said := messages(string(out))
		if c.Cause == rules.Healthy {
			x.Healthy++
			if slices.ContainsFunc(said, func(m message) bool { return m.level < noteLevel }) {
				x.FalseAlarms++
			}
			continue
		}
		x.Faulty++
		for rank, m := range said[:min(len(said), 3)] {
			if slices.ContainsFunc(m.causes(), func(d diagnosis.Cause) bool { return d == c.Cause || slices.Contains(c.Also, d) }) {
				x.Three++
				if rank == 0 {
					x.First++
				}
				break
			}
		}
	}
	return &x
}

// message is one line of expert info, of all with the same text but for numbers.
type message struct {
	level int // 0 error, 1 warning, 2 note
	count int
	text  string
}

const noteLevel = 2

var (
	section = regexp.MustCompile(`^(Errors|Warns|Notes|Chats) \(\d+\)`)
	entry   = regexp.MustCompile(`^ +(\d+) +(.*)$`)
	number  = regexp.MustCompile(`0x[0-9a-f]+|\d+`)
	ends    = regexp.MustCompile(`(initiates|undergoes) the connection closing`) // a note on every healthy end
)

// messages reads what tshark prints, gravest first.
func messages(out string) []message {
	var all []message
	level := -1
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\r\n")
		if m := section.FindStringSubmatch(line); m != nil {
			level = slices.Index([]string{"Errors", "Warns", "Notes"}, m[1])
			continue
		}
		m := entry.FindStringSubmatch(line)
		if m == nil || level < 0 || ends.MatchString(line) {
			continue
		}
		n, _ := strconv.Atoi(m[1])
		text := number.ReplaceAllString(m[2], "N")
		at := slices.IndexFunc(all, func(x message) bool { return x.level == level && x.text == text })
		if at < 0 {
			all = append(all, message{level: level, text: text})
			at = len(all) - 1
		}
		all[at].count += n
	}
	slices.SortStableFunc(all, func(a, b message) int { return cmp.Or(a.level-b.level, b.count-a.count) })
	return all
}

// causes are all that a message can be a sign of.
func (m message) causes() (out []diagnosis.Cause) {
	for _, sign := range []struct {
		text   string
		causes string
	}{
		{"Connection reset", "connection-refused firewall-reset-injection firewall-reject server-abort client-abort half-open-connection idle-timeout-by-middlebox connection-reset-at-rest tls-not-spoken"},
		{"TCP  This frame is a (suspected) retransmission", "tcp-packet-loss connection-timeout-no-answer pmtu-black-hole idle-timeout-by-middlebox half-open-connection retransmissions-without-cost gateway-down"},
		{"fast retransmission", "tcp-packet-loss"},
		{"spurious retransmission", "tcp-packet-loss retransmissions-without-cost duplicate-packets"},
		{"Duplicate ACK", "tcp-packet-loss tcp-reordering duplicate-packets"},
		{"Previous segment(s) not captured", "tcp-packet-loss incomplete-capture"},
		{"ACKed segment that wasn't captured", "incomplete-capture asymmetric-capture"},
		{"out-of-order segment", "tcp-reordering"},
		{"D-SACK", "tcp-reordering retransmissions-without-cost duplicate-packets"},
		{"window specified by the receiver is now completely full", "receiver-zero-window small-receive-window"},
		{"Zero Window", "receiver-zero-window"},
		{"keep-alive", "half-open-connection idle-timeout-by-middlebox"},
		{"DNS query retransmission", "dns-timeout dns-slow"},
		{"DNS response retransmission", "dns-answer-odd"},
		{"Duplicate IP address", "duplicate-ip-address arp-spoofing"},
		{"packet storm", "broadcast-storm"},
		{"Time To Live", "routing-loop-ttl-exceeded traceroute-seen"},
		{"checksum", "checksum-corruption"},
		{"same ports as an earlier session", "port-reuse"},
		{"ignoring TFO data", "fast-open-rejected"},
		{"missing TS frames", "media-loss"},
		{"Peer Termination", "eigrp-neighbor-leaves"},
		{"fragment overlaps", "tcp-overlap fragment-overlap"},
	} {
		if strings.Contains(m.text, sign.text) {
			for c := range strings.FieldsSeq(sign.causes) {
				out = append(out, diagnosis.Cause(c))
			}
		}
	}
	return out
}
