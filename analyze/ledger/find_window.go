package ledger

import (
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
)

const (
	// smallShare is the share of a transfer's time spent waiting for the window from
	// which the window is its limit.
	smallShare = 0.4
	// smallTransfer is the shortest transfer, in windows, that tells.
	smallTransfer = 4
	// fullUse is the share of window/RTT from which the window is the limit, whatever
	// waits were seen: a queue would have added a third to the round trip. That takes
	// this many round trips, of a length at which 64 KiB are a limit that is felt:
	// below 50 Mbit/s.
	fullUse   = 0.75
	fullTrips = 10
	longTrip  = 10 * millisecond
	// smallUsed is the least share of window/RTT that the rate must reach.
	smallUsed = 0.35
)

// windows tells of closed, full and small windows.
func (p *report) windows() {
	t := p.t
	d := busier(t.voice[0].shutWait, t.voice[1].shutWait)
	if t.voice[0].shutWait == t.voice[1].shutWait {
		d = busier(t.voice[1].zeros, t.voice[0].zeros) // zeros are counted with the receiver
	}
	if f, o := &t.voice[d], &t.voice[d^1]; o.zeros > 0 || f.shutTimes > 0 {
		p.say(ZeroWindow, p.either(ZeroWindow, f.shutWait >= costlyStall), t.proof(ZeroWindow),
			seconds(f.shutWait), seconds(f.shutMost), count(f.shutTimes), count(o.zeros), count(f.probes),
			byReceiver(d), words(receiver(d)), seconds(o.shutTotal), count(o.minWin), count(o.maxWin),
			yes(o.shutAt != 0), seconds(f.extent()))
	}
	d = busier(t.voice[0].winWait, t.voice[1].winWait)
	if t.voice[0].winWait == t.voice[1].winWait {
		d = busier(t.voice[0].fulls, t.voice[1].fulls)
	}
	f, o := &t.voice[d], &t.voice[d^1]
	if f.fulls == 0 && f.winTimes == 0 {
		d = busier(t.voice[0].unique, t.voice[1].unique)
	} else {
		p.say(WindowFull, finding.Info, t.proof(WindowFull),
			count(max(f.fulls, f.winTimes)), seconds(f.winWait), count(o.maxWin), byReceiver(d), words(receiver(d)))
	}
	p.smallWindow(d)
}

func (p *report) smallWindow(d flow.Dir) {
	t := p.t
	f, o := &t.voice[d], &t.voice[d^1]
	trip := t.roundTrip()
	took := f.extent()
	if p.r.flags&(flagSYN|flagUnscaled) != flagSYN || o.maxWin == 0 || trip == 0 || took < 4*trip || f.unique < smallTransfer*uint64(o.maxWin) || f.shutWait > f.winWait {
		return
	}
	limit, rate := mbps(uint64(o.maxWin), trip), mbps(f.unique, took)
	waits := f.winWait >= costlyStall && float64(f.winWait) >= smallShare*float64(took) && rate >= smallUsed*limit
	// Near the receiver the waits do not show where segments trickle. But who sends
	// a window in each round trip has none to spare: a slow link would have made the
	// round trips longer.
	if !waits && (rate < fullUse*limit || took < fullTrips*trip || trip < longTrip || f.lost > 0) {
		return
	}
	scaled := p.r.scale[0] >= 0 && p.r.scale[1] >= 0
	p.say(SmallWindow, p.usual(SmallWindow), t.proof(WindowFull),
		count(o.maxWin), millis(trip), figure(limit), figure(rate), figure(ratio(rate, limit)), seconds(f.winWait), seconds(took),
		count(f.unique), byReceiver(d), words(receiver(d)), yes(scaled), count(f.lost))
}
