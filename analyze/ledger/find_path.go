package ledger

import (
	"math"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
)

const (
	highTrip      = 150 * millisecond
	growthFrom    = 50 * millisecond
	growthSamples = 6
	fewPackets    = 4
	plateauFrom   = second
	plateauBins   = 6
	plateauVary   = 0.35
	plateauFull   = 0.8
)

// path tells what the way itself does.
func (p *report) path() {
	p.highRTT()
	p.growth()
	for d := range flow.Dir(2) {
		p.plateau(d)
	}
	p.congestion()
	p.blackHole()
}

func (p *report) highRTT() {
	t, r := p.t, p.r
	trip := t.roundTrip()
	if trip < highTrip {
		return
	}
	y, _ := t.tally()
	shake := int64(0)
	if r.ready != 0 && r.flags&flagSYN != 0 {
		shake = r.ready - r.start
	}
	d := flow.ToServer
	if t.half(flow.ToClient) > t.half(flow.ToServer) {
		d = flow.ToClient
	}
	sum := t.trips(d)
	other := trip - t.half(d)
	median, p95 := sum.Median+other, sum.P95+other
	if sum.Samples == 0 {
		median, p95 = trip, trip
	}
	trips := int64(y.trips)
	took := y.parts.Part[conn.Path]
	if r.ready != 0 {
		trips++
		took += y.parts.Part[conn.Connect]
	}
	frames := []at{{r.first, r.start}}
	if x := &t.voice[d].best; x.ack != 0 {
		frames = append(frames, at{x.data, x.ackAt - t.voice[d].rtt.min}, at{x.ack, x.ackAt})
	}
	p.say(HighRTT, p.usual(HighRTT), pair(frames...),
		millis(trip), millis(median), millis(p95), millis(shake),
		millis(t.half(flow.ToServer)), millis(t.half(flow.ToClient)), count(trips), seconds(took),
		seconds(y.parts.Part[conn.ServerThink]), count(sum.Samples), count(t.voice[0].lost+t.voice[1].lost))
}

// grown is a growth of the round trip as one direction's segments measure it.
type grown struct {
	base, loaded, p95, peak int64
	n                       int
}

// queue measures the growth of the half round trip that a direction's segments see.
func (t *talk) queue(d flow.Dir) (g grown) {
	if t.bulk == nil {
		return g
	}
	l := &t.bulk.dir[d]
	s := l.loaded[:l.kept.n]
	if len(s) == 0 {
		return g
	}
	g.base = t.half(d)
	g.n = int(l.kept.seen)
	at := ranked(s, 0.5, 0.95)
	g.loaded, g.p95 = int64(at[0])*microsecond, int64(at[1])*microsecond
	g.peak = l.peak
	return g
}

func (p *report) growth() {
	t, r := p.t, p.r
	if t.bulk == nil {
		return
	}
	up, down := t.queue(flow.ToServer), t.queue(flow.ToClient)
	g, side := up, flow.ToServer
	if down.loaded-down.base > up.loaded-up.base {
		g, side = down, flow.ToClient
	}
	if g.n < growthSamples || g.p95-g.base < growthFrom || g.p95 < 2*g.base {
		return
	}
	d := busier(t.voice[0].unique, t.voice[1].unique)
	f := &t.voice[d]
	other := t.half(side ^ 1)
	correlation := 0.0
	if side == d {
		correlation = t.bulk.dir[d].pairs.correlation()
	}
	rate := mbps(f.unique, f.extent())
	growth := g.loaded - g.base
	// What waits for so long at this rate: less than a few packets is no queue but
	// a receiver that holds its ACKs back.
	queued := math.Round(float64(growth) / second * rate * 1e6 / 8)
	if queued < fewPackets*float64(max(r.agreed(), f.most, defaultMSS)) {
		return
	}
	l := &t.bulk.dir[side]
	p.say(RTTGrowth, p.either(RTTGrowth, growth >= 2*growthFrom), pair(at{r.first, r.start}, l.baseIn, l.peakIn),
		millis(g.base+other), millis(g.loaded+other), millis(g.p95+other), millis(g.peak+other), millis(growth),
		figure(ratio(float64(g.p95+other), float64(g.base+other))), figure(correlation), count(f.flight), figure(rate),
		seconds(f.extent()), words(receiver(d)), figure(ratio(float64(f.lost), float64(f.segments))), count(g.n),
		figure(queued))
}

// plateau tells of a steady rate.
func (p *report) plateau(d flow.Dir) {
	t, r := p.t, p.r
	f, o := &t.voice[d], &t.voice[d^1]
	if t.bulk == nil || f.extent() < plateauFrom {
		return
	}
	l := &t.bulk.dir[d]
	used := l.bins[:]
	for len(used) > 0 && used[len(used)-1] == 0 {
		used = used[:len(used)-1]
	}
	if len(used) < plateauBins {
		return
	}
	used = used[:len(used)-1] // the last bin is not full
	middle := median(used)
	for len(used) > plateauBins && used[0] < middle/2 {
		used = used[1:] // slow start
	}
	vary := spread(used)
	took := f.extent()
	pauses := f.idleWait + f.lossWait
	if half := t.half(d); half > t.half(d^1) {
		// The tap is on the sender's side: what is in flight shows.
		pauses = max(l.dry, pauses)
	}
	pauses += f.winWait + f.shutWait
	full := max(0, 1-ratio(float64(pauses), float64(took)))
	if vary > plateauVary || full < plateauFull || middle == 0 {
		return
	}
	g, back := t.queue(d), t.queue(d^1)
	queue := max(g.loaded-g.base, 0)
	if back.n >= growthSamples {
		queue = max(queue, back.loaded-back.base)
	}
	trip := t.roundTrip()
	share := ratio(float64(f.lost), float64(f.segments))
	limit := 0.0
	if share > 0 && trip > 0 {
		mss := max(r.agreed(), defaultMSS)
		limit = 0.93 * mbps(uint64(mss), trip) / math.Sqrt(share)
	}
	p.say(RatePlateau, finding.Info, nil,
		figure(mbps(f.unique, took)), figure(vary), seconds(took), count(f.unique), figure(full), millis(queue), millis(trip),
		figure(ratio(float64(f.flight), float64(o.maxWin))), figure(share), seconds(f.idleWait), words(receiver(d)), figure(limit))
}

func (p *report) congestion() {
	t := p.t
	d := busier(t.voice[0].marked, t.voice[1].marked)
	if n := t.voice[d].marked; n > 0 {
		p.say(Congestion, finding.Info, t.proof(Congestion),
			count(n), figure(ratio(float64(n), float64(p.r.packets[d]))), words(receiver(d)))
	}
}

const (
	tcpHeader  = 20
	ipv4Header = 20
	ipv6Header = 40
)

// blackHole tells of large segments that never pass.
func (p *report) blackHole() {
	t := p.t
	if t.bulk == nil || t.icmp.n > 0 && t.icmp.mtu > 0 {
		return
	}
	for d := range flow.Dir(2) {
		f, l := &t.voice[d], &t.bulk.dir[d]
		var stuck, attempts uint32
		var wait int64
		ev := t.proof(PMTUBlackHole)
		switch {
		case l.large > 0 && f.passed < l.large && (f.passed > 0 || p.r.flags&flagSYN != 0) && (f.tries > 3 || f.passed < smallSegment):
			stuck, attempts, wait = l.large, f.tries, t.last-f.tryAt
		case p.silentHole(d):
			h := &l.holes[0]
			wait = h.at - max(f.newAt, p.r.ready)
			e := proof(at{h.frame, h.at})
			ev = &e
		default:
			continue
		}
		header := uint32(tcpHeader + ipv4Header)
		if t.v6 {
			header = tcpHeader + ipv6Header
		}
		size := func(payload uint32) uint32 {
			if payload == 0 {
				return 0
			}
			return payload + header + uint32(f.optBytes)
		}
		p.say(PMTUBlackHole, p.usual(PMTUBlackHole), ev,
			count(stuck), count(max(f.passed, min(f.most, f.passedSeen(stuck)))), count(size(stuck)), count(size(max(f.passed, f.passedSeen(stuck)))),
			count(attempts), seconds(wait), bySender(d), words(sender(d)), yes(f.tries == 0 && stuck > 0), count(p.r.mss[d^1]))
		return
	}
}

// silentHole reports whether, at the receiver's side, a turn's large segments never
// came although small ones before and behind them did.
func (p *report) silentHole(d flow.Dir) bool {
	f, l := &p.t.voice[d], &p.t.bulk.dir[d]
	if l.nHoles == 0 || f.most > smallSegment {
		return false
	}
	h := &l.holes[0]
	return h.small && h.to-h.from >= smallSegment && h.at-max(f.newAt, p.r.ready) >= second
}

// passedSeen is the largest payload that came by, where what was stuck was not seen.
func (f *voice) passedSeen(stuck uint32) uint32 {
	if stuck > 0 {
		return 0
	}
	return f.most
}
