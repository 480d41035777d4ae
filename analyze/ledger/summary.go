package ledger

import (
	"netwhy/analyze/conn"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// summary fills in what the books know of a conversation.
func (b *Books) summary(r *record, why proto.End, sum *conn.Summary) {
	sum.First, sum.Last = r.first, r.last
	sum.Start, sum.Stop = r.start, r.stop
	for d := range 2 {
		s := &sum.Client
		if d == int(flow.ToClient) {
			s = &sum.Server
		}
		s.Packets, s.Bytes, s.WireBytes = uint64(r.packets[d]), r.bytes[d], r.wire[d]
		s.TTL = r.ttl[d]
		s.WindowScale = -1
	}
	seen := r.flags & (flagSeen | flagSeenServer)
	sum.OneSided = seen != flagSeen|flagSeenServer && r.flags&flagUDP == 0 && r.packets[0]+r.packets[1] > 1
	if r.talk != 0 {
		t := b.talks.At(r.talk)
		if r.flags&flagUDP == 0 {
			t.exchanges(sum)
		}
		if r.flags&flagUDP != 0 && t.icmp.n > 0 && r.packets[flow.ToClient] == 0 {
			sum.End = conn.EndICMPError
		}
	}
	if r.flags&flagUDP != 0 {
		if n := r.queries(); n != 0 {
			b.asks(b.queries.At(n), sum)
		}
		if sum.End == "" {
			sum.End = conn.EndOpen
			if why == proto.Idle {
				sum.End = conn.EndIdle
			}
		}
		sum.ClientKnown = true
		sum.OneSided = false
		sum.Vantage = b.vantage(r)
		return
	}
	b.tcpSummary(r, why, sum)
}

func (b *Books) tcpSummary(r *record, why proto.End, sum *conn.Summary) {
	sum.ClientKnown = r.flags&flagKnown != 0
	sum.SYNs = uint32(r.syns)
	sum.MidStream = r.flags&flagSYN == 0
	sum.Established = r.flags&flagEstablished != 0
	sum.ECN = r.flags&flagECN != 0
	if r.flags&flagSYN != 0 && r.synAck != 0 {
		sum.HandshakeServer = max(0, r.synAck-r.start)
		if r.ready != 0 {
			sum.HandshakeClient = max(0, r.ready-r.synAck)
			sum.Handshake = max(0, r.ready-r.start)
		}
	}
	sum.End = r.tcpEnd()
	sum.EndFrame = r.end
	switch {
	case sum.End != conn.EndOpen:
	case r.unanswered() && r.talk != 0 && b.talks.At(r.talk).icmp.n > 0:
		sum.End = conn.EndICMPError
	case r.unanswered():
		sum.End = conn.EndNoAnswer
	case why == proto.Idle:
		sum.End = conn.EndIdle
	}
	sack := r.flags&flagSACK != 0 && r.flags&flagSACKServer != 0
	for d := range flow.Dir(2) {
		s := &sum.Client
		if d == flow.ToClient {
			s = &sum.Server
		}
		s.MSS, s.WindowScale = r.mss[d], r.scale[d]
		s.SACK = sack
		s.Fin, s.Rst = r.flags&side(flagFin, d) != 0, r.flags&side(flagRst, d) != 0
		if s.Rst && r.endSide == d {
			s.RstFrame = r.end
		}
		s.Unique = r.bytes[d]
		if r.talk != 0 {
			b.talks.At(r.talk).sideOf(d, s)
		}
	}
	if sum.End == conn.EndNoAnswer && r.syns > 1 {
		sum.Score += b.talkOf(r).synAt - r.start
	}
	b.trust(r, sum)
}

// sideOf fills in what one end sent.
func (t *talk) sideOf(d flow.Dir, s *conn.Side) {
	f := &t.voice[d]
	s.Unique, s.Retransmitted = f.unique, f.again
	s.Retransmits, s.FastRetrans, s.Spurious = f.resent, f.fast, f.spurious
	s.OutOfOrder, s.LostSegments, s.DupAcks = f.late, f.gaps, f.dupAcks
	s.Lost, s.Gaps, s.Missing = f.lost, f.unseen, f.missing
	s.ZeroWindows, s.WindowFulls, s.KeepAlives, s.Timeouts = f.zeros, f.fulls, f.alive, f.timeouts
	s.MinWindow, s.MaxWindow = f.minWin, f.maxWin
	s.MaxInFlight, s.MaxSegment = f.flight, f.most
	s.RTT = t.trips(d)
	s.ZeroWindowTime = f.shutTotal
	s.LossStall = f.lossWait
	if !t.offloaded(d) {
		s.BadChecksums = t.sums[d].damaged
	}
	if f.ttls > 0 && s.TTL == 0 {
		s.TTL = f.ttl
	}
}

// exchanges fills in what exchanges there were and which was worst.
func (t *talk) exchanges(sum *conn.Summary) {
	y, worst := t.tally()
	sum.Exchanges, sum.FailedExchanges = y.n, y.failed
	sum.Turns = t.own.n
	sum.Score = y.lost
	sum.Parts = y.parts
	sum.Parts.Add(conn.ClientThink, t.pauses.between.total)
	if worst != nil {
		w := *worst
		sum.Worst = &w
	}
}

// tally is that of the analyzers' exchanges, or of the books' own turns when there
// are none.
func (t *talk) tally() (*tally, *conn.Exchange) {
	if t.told.any {
		return t.told, t.worst[1]
	}
	return t.own, t.worst[0]
}
