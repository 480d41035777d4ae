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
		return
	}
	p.say(WindowFull, finding.Info, t.proof(WindowFull),
		count(max(f.fulls, f.winTimes)), seconds(f.winWait), count(o.maxWin), byReceiver(d), words(receiver(d)))
	p.smallWindow(d)
}

func (p *report) smallWindow(d flow.Dir) {
	t := p.t
	f, o := &t.voice[d], &t.voice[d^1]
	trip := t.roundTrip(p.r)
	took := f.extent()
	if p.r.flags&flagSYN == 0 || o.maxWin == 0 || trip == 0 || took < 4*trip || f.winWait < costlyStall ||
		f.unique < smallTransfer*uint64(o.maxWin) || float64(f.winWait) < smallShare*float64(took) || f.shutWait > f.winWait {
		return
	}
	limit, rate := mbps(uint64(o.maxWin), trip), mbps(f.unique, took)
	if rate < smallUsed*limit {
		return
	}
	scaled := p.r.scale[0] >= 0 && p.r.scale[1] >= 0
	p.say(SmallWindow, p.usual(SmallWindow), t.proof(WindowFull),
		count(o.maxWin), millis(trip), figure(limit), figure(rate), figure(ratio(rate, limit)), seconds(f.winWait), seconds(took),
		count(f.unique), byReceiver(d), words(receiver(d)), yes(scaled), count(f.lost))
}
