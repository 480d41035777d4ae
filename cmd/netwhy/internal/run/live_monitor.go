package run

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"netwhy/analyze"
	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/capture/packet"
	"netwhy/cmd/netwhy/internal/config"
	"netwhy/cmd/netwhy/internal/report"
	"netwhy/rules"
	"netwhy/rules/diagnosis"
)

// How often things are looked at and told during a run.
const (
	everyMoment = time.Second      // findings are judged
	everyUpdate = 10 * time.Second // the same finding or diagnosis is told again, if it has grown
	tellAtOnce  = 100              // events in one second; the rest has to wait for the next
	pressureOn  = 0.5              // part of the batches under way at which payload is left unread
	pressureOff = 0.2
	waitMoment  = 5 * time.Second
	restParts   = 10 // judging takes at most a tenth of one processor
)

// monitor tells what is found while the capture runs. But for connection and
// finding, which the analysis calls, it lives in one goroutine.
type monitor struct {
	c        *liveRun
	outs     *outputs
	evidence *liveEvidence // nil: none is written
	dirty    atomic.Bool   // something was found since the last moment
	now      chan struct{} // a report of the moment is wanted

	findings  told[findingKey]
	diagnoses told[diagnosisKey]
	places    []int // of the latest moment's diagnoses in what the rules said
	held      int   // events that have to wait
	broken    map[*output]bool
	next      time.Time // no moment before
	last      moment
}

// moment is what the run came to at some time.
type moment struct {
	res    *analyze.Result
	report *report.Report
	said   []diagnosis.Diagnosis
}

// told remembers under which id things were told, and how much of them.
type told[K comparable] struct {
	by     map[K]*telling
	number int
	letter string
}

type telling struct {
	id       string
	count    uint64
	severity finding.Severity
	at       time.Time
	seen     bool // in the latest moment
}

func newTold[K comparable](letter string) told[K] {
	return told[K]{by: map[K]*telling{}, letter: letter}
}

// of returns what is known of a thing, with an id of its own from now on.
func (t *told[K]) of(key K) *telling {
	x := t.by[key]
	if x == nil {
		t.number++
		x = &telling{id: fmt.Sprintf("%s%d", t.letter, t.number)}
		t.by[key] = x
	}
	x.seen = true
	return x
}

// forget drops what the latest moment did not have any more: the analysis has
// forgotten it too.
func (t *told[K]) forget() {
	for key, x := range t.by {
		if !x.seen {
			delete(t.by, key)
		}
		x.seen = false
	}
}

// due reports whether a thing is to be told: when it is new, when it has become
// worse, and when it has grown and was not told for a while.
func (x *telling) due(count uint64, severity finding.Severity, now time.Time) bool {
	return x.at.IsZero() || severity > x.severity || count != x.count && now.Sub(x.at) >= everyUpdate
}

func (x *telling) note(count uint64, severity finding.Severity, now time.Time) {
	x.count, x.severity, x.at = count, severity, now
}

type findingKey struct {
	flow  flow.ID
	code  finding.Code
	host  string
	first uint64 // of what is no connection's
}

type diagnosisKey struct{ cause, culprit, party string }

func newMonitor(c *liveRun, outs *outputs) *monitor {
	m := &monitor{
		c: c, outs: outs, now: make(chan struct{}, 1), findings: newTold[findingKey]("F"), diagnoses: newTold[diagnosisKey]("D"),
		broken: map[*output]bool{},
	}
	if c.opt.Evidence != "" {
		m.evidence = newLiveEvidence(c)
	}
	return m
}

// finding is called by the analysis for what is new or has grown.
func (m *monitor) finding(finding.Finding) { m.dirty.Store(true) }

// connection is called by the analysis for each that ended.
func (m *monitor) connection(s *conn.Summary) {
	m.c.measured(s)
	if on := m.c.screen.Load(); on != nil {
		on.talk.add(s)
	}
}

// run looks at the findings every second until ctx ends.
func (m *monitor) run(ctx context.Context) {
	tick := time.NewTicker(everyMoment)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.now:
			if m.ask(ctx) {
				m.tell(time.Now(), m.last.report)
				m.outs.moment(m.c, m.last.report)
			}
		case now := <-tick.C:
			if !now.Before(m.next) && (m.dirty.Swap(false) || m.held > 0 || m.c.screen.Load() != nil || m.c.side.metrics != nil) {
				if m.ask(ctx) {
					m.tell(now, m.last.report)
					m.show(now)
				}
			}
			if m.evidence != nil {
				m.evidence.write(ctx, now)
			}
		}
	}
}

// pressured decides with each batch whether payload is left unread from there on:
// long before a batch is left out, and without waiting for anybody.
type pressured struct {
	depths
	pressure *atomic.Bool
}

// depths is a source that tells how many batches are under way.
type depths interface {
	analyze.Source
	Depth() (used, size int)
}

// Next implements analyze.Source.
func (p *pressured) Next(ctx context.Context) (*packet.Batch, error) {
	b, err := p.depths.Next(ctx)
	used, size := p.Depth()
	switch part := float64(used) / float64(size); {
	case part >= pressureOn:
		p.pressure.Store(true)
	case part <= pressureOff:
		p.pressure.Store(false)
	}
	return b, err
}

// ask gets the result so far and judges it; false: the run ends.
func (m *monitor) ask(ctx context.Context) bool {
	got := make(chan *analyze.Result, 1)
	ctx, cancel := context.WithTimeout(ctx, waitMoment)
	defer cancel()
	select {
	case m.c.moments <- func(r *analyze.Result) { got <- r }:
	case <-ctx.Done():
		return false
	}
	select {
	case res := <-got:
		began := time.Now()
		r, _, said := m.c.report(ctx, res)
		m.next = began.Add(min(restParts*time.Since(began), everyUpdate))
		m.last = moment{res: res, report: r, said: said}
		m.rename(r)
		m.c.measure(res, r)
		return true
	case <-ctx.Done():
		return false
	}
}

// report judges a result and makes the report of it.
func (c *liveRun) report(ctx context.Context, res *analyze.Result) (*report.Report, *assembler, []diagnosis.Diagnosis) {
	set := c.judge.Load()
	diagnoses, faults := set.Diagnose(Judged(res), rules.Options{Lang: *c.lang.Load()})
	for _, f := range faults {
		c.w.Log.WarnContext(ctx, "a rule could not be evaluated", slog.Any("err", f))
	}
	info := c.src.Info()
	r, a := assemble(res, &info, diagnoses, set.Codes(), finding.Severity(c.least.Load())) //nolint:gosec // one was stored
	r.Version = c.w.Version
	doubt(r, &info, set, config.Lang(*c.lang.Load()))
	return r, a, diagnoses
}

// rename gives findings and diagnoses the ids under which they were told
// before: in a report, an id is a place in an order, and places change while
// more is found.
func (m *monitor) rename(r *report.Report) {
	ids := make(map[string]string, len(r.Findings))
	for i := range r.Findings {
		f := &r.Findings[i]
		id := m.findings.of(keyOf(f)).id
		ids[f.ID], f.ID = id, id
	}
	m.findings.forget()
	m.places = m.places[:0]
	for i := range r.Diagnoses {
		d := &r.Diagnoses[i]
		for k, e := range d.Evidence {
			d.Evidence[k] = cmp.Or(ids[e], e)
		}
		m.places = append(m.places, place(d.ID))
		d.ID = m.diagnoses.of(partyOf(d)).id
	}
	m.diagnoses.forget()
}

func keyOf(f *report.Finding) findingKey {
	k := findingKey{code: finding.Code(f.Code)}
	if f.Host != nil {
		k.host = *f.Host
	}
	if c := f.Connection; c != nil {
		k.flow = flow.ID{Stream: c.Stream, Proto: flow.UDP}
		if c.Proto == "tcp" {
			k.flow.Proto = flow.TCP
		}
		return k
	}
	k.first = f.FirstFrame
	return k
}

// partyOf is what a diagnosis stays the same by: its cause, and who is to blame.
func partyOf(d *report.Diagnosis) diagnosisKey {
	k := diagnosisKey{cause: d.Cause, culprit: d.Culprit}
	if d.More > 0 { // of many parties, which change
		k.party = "more " + d.Severity.String()
		return k
	}
	if len(d.Connections) > 0 {
		end := d.Connections[0].Server
		if d.Culprit == string(diagnosis.Client) {
			end = d.Connections[0].Client
		}
		if host, _, err := net.SplitHostPort(end); err == nil {
			k.party = host
		}
	}
	return k
}

// tell tells what is new or has grown, at a bounded rate.
func (m *monitor) tell(now time.Time, r *report.Report) {
	left := tellAtOnce
	m.held = 0
	for i := range r.Diagnoses {
		d := &r.Diagnoses[i]
		x := m.diagnoses.of(partyOf(d))
		count := uint64(max(d.Impact.Connections, 0))
		if !x.due(count, d.Severity, now) {
			continue
		}
		if left--; left < 0 {
			m.held++
			continue
		}
		isNew := x.at.IsZero()
		x.note(count, d.Severity, now)
		m.diagnosed(now, r, i, isNew)
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		x := m.findings.of(keyOf(f))
		if !x.due(f.Count, f.Severity, now) {
			continue
		}
		if left--; left < 0 {
			m.held++
			continue
		}
		x.note(f.Count, f.Severity, now)
		m.outs.liveFinding(f)
	}
	m.tellBroken()
}

// tellBroken says once that an output takes no more events, as on a full disk.
// The report of the end tells of it again.
func (m *monitor) tellBroken() {
	for _, out := range m.outs.list {
		if _, live := out.sink.(report.LiveSink); live && out.err != nil && !m.broken[out] {
			m.broken[out] = true
			m.c.say("%v; the analysis goes on", &OutputError{Path: out.name, Err: bare(out.err)})
		}
	}
}

// tellLast tells what the end of the run has brought, without a bound: it is
// told once.
func (m *monitor) tellLast(now time.Time) {
	r := m.last.report
	for i := range r.Diagnoses {
		x := m.diagnoses.of(partyOf(&r.Diagnoses[i]))
		if x.at.IsZero() {
			x.note(0, r.Diagnoses[i].Severity, now)
			m.c.alert(now, &r.Diagnoses[i])
			m.question(r.Diagnoses[i].ID, m.places[i])
		}
	}
}

// placeID is the id that a diagnosis has by its place.
func placeID(i int) string { return fmt.Sprintf("D%d", i+1) }

// diagnosed tells a diagnosis to all who want to know.
func (m *monitor) diagnosed(now time.Time, r *report.Report, i int, isNew bool) {
	d := &r.Diagnoses[i]
	m.outs.liveDiagnosis(d)
	if m.c.screen.Load() == nil { // there it stands in a list
		m.c.say("%s", line(now, d, isNew))
	}
	if isNew && m.evidence != nil {
		m.evidence.want(now, r, d)
	}
	if isNew {
		m.c.alert(now, d)
		m.question(d.ID, m.places[i])
	}
}

// line is a diagnosis on one line.
func line(now time.Time, d *report.Diagnosis, isNew bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s: %s", now.Format(time.TimeOnly), d.Severity, d.ID, d.Title)
	if n := d.Impact.Connections; n > 1 {
		fmt.Fprintf(&b, " (%d connections)", n)
	}
	if !isNew {
		b.WriteString(" [goes on]")
	}
	return b.String()
}
