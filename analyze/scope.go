package analyze

import (
	"net/netip"
	"slices"
	"strconv"

	"netwhy/analyze/conn"
	"netwhy/analyze/decode"
	"netwhy/analyze/finding"
	"netwhy/analyze/proto"
)

// pendingKey names a finding that is still growing.
type pendingKey struct {
	slot uint32 // 0: of no conversation
	code finding.Code
	host netip.Addr
}

// maxPending bounds the findings that grow at once in a lane; what comes on top
// is counted as shed.
const maxPending = 1 << 18

// setScope points the lane's scope at a conversation and the frame at hand, if there
// is one.
func (l *lane) setScope(slot uint32, c *conversation, k *socket) {
	at, frame := l.scope.At, l.scope.FrameNo
	if l.frame != nil {
		at, frame = l.frame.Time, l.frame.Number
	}
	l.enter(slot, c, k, at, frame)
}

// enter points it at a conversation and the frame that completes what comes now.
func (l *lane) enter(slot uint32, c *conversation, k *socket, at int64, frame uint64) {
	s, n := &l.scope, &l.next
	s.At, s.FrameNo = at, frame
	s.Conv, s.Copy, s.Quiet, s.Around = slot, l.copy, k.foreign, 0
	if k.more != nil {
		s.Around = k.more.around
	}
	n.Again, n.Tunnel, n.Port = false, false, 0
	// Pointers are written only where they change: while garbage is collected, each that
	// is written costs more than all of this.
	if k.spec == nil || !k.spec.Wraps {
		if n.Inner != nil {
			n.Inner, n.Lost = nil, nil
		}
	} else {
		if n.Inner == nil {
			n.Inner, n.Lost = l.hand.Inner, l.hand.Lost
		}
		l.unwraps = unwrapping{slot, c, k}
	}
	if s.Pkt != l.pkt {
		s.Pkt = l.pkt
	}
	s.Raw = l.raw
	if c == nil {
		s.Facts, s.Next, s.Key = nil, nil, nil
		return
	}
	s.ClientIsA = c.flags&clientIsA != 0
	if s.Next == nil {
		s.Next = n
	}
	if s.Key != &c.key || s.Facts != k.facts {
		s.Key, s.Facts = &c.key, k.facts
	}
}

// Report implements proto.Sink.
func (l *lane) Report(s *proto.Scope, host netip.Addr, code finding.Code, v []finding.Value) {
	def := l.specs.defs[code]
	if def == nil {
		return
	}
	key := pendingKey{slot: s.Conv, code: code, host: host}
	if host.IsValid() {
		key.slot = 0 // a host's findings come from many conversations
	}
	f := l.growing(key)
	if f == nil {
		if len(l.pending)+l.grows >= maxPending {
			l.d.shed++
			return
		}
		f = l.grow(key, finding.Finding{Code: code, Severity: def.Severity, Host: host, Values: slices.Clone(v)})
	} else {
		merge(f.Values, v, def.Metrics)
	}
	frame, at := s.FrameNo, s.At
	if frame == 0 && f.Evidence.Count > 0 { // said at the end: no frame shows it
		frame, at = f.Evidence.Last, f.Evidence.End
	}
	if frame == 0 {
		frame, at = s.BeganFrame, s.BeganAt
	}
	f.Evidence.Add(frame, at)
	if l.live {
		l.d.grown = append(l.d.grown, key)
	}
}

// growing is a finding that is still growing; nil: there is none. Those of a
// conversation are few, and with its socket.
func (l *lane) growing(key pendingKey) *finding.Finding {
	if key.slot == 0 {
		return l.pending[key]
	}
	k := l.sockets[l.table.at(key.slot).socket]
	if k == nil || k.more == nil {
		return nil
	}
	for i := range k.more.found {
		if f := &k.more.found[i]; f.Code == key.code { // of no host: those are pending
			return f
		}
	}
	return nil
}

// grow begins a finding that will grow.
func (l *lane) grow(key pendingKey, f finding.Finding) *finding.Finding {
	if key.slot == 0 {
		l.pending[key] = &f
		return &f
	}
	x := l.sockets[l.table.at(key.slot).socket].extra()
	x.found = append(x.found, f)
	l.grows++
	return &x.found[len(x.found)-1]
}

// ReportEvidence implements proto.Sink.
func (l *lane) ReportEvidence(s *proto.Scope, host netip.Addr, code finding.Code, ev finding.Evidence, v []finding.Value) {
	if def := l.specs.defs[code]; def != nil && ev.Count > 0 {
		f := finding.Finding{Code: code, Severity: def.Severity, Host: host, Evidence: ev, Values: v}
		l.found(s.Conv, clone(&f))
	}
}

// merge folds the figures of one more occurrence into those of a finding.
func merge(into, v []finding.Value, metrics []finding.Metric) {
	for i := range min(len(into), len(v), len(metrics)) {
		if metrics[i].Text {
			if metrics[i].Merge == finding.Last {
				into[i] = v[i]
			}
			continue
		}
		switch metrics[i].Merge {
		case finding.First:
		case finding.Last:
			into[i].Num = v[i].Num
		case finding.Sum:
			into[i].Num += v[i].Num
		case finding.Max:
			into[i].Num = max(into[i].Num, v[i].Num)
		case finding.Min:
			into[i].Num = min(into[i].Num, v[i].Num)
		}
	}
}

// grown tells the collector of findings that are new or have grown (live).
func (l *lane) grown() {
	told := map[pendingKey]bool{}
	for _, key := range l.d.grown {
		if f := l.growing(key); f != nil && !told[key] {
			told[key] = true
			l.found(key.slot, clone(f))
		}
	}
	l.d.grown = l.d.grown[:0]
}

// found hands a finding of a conversation (0: of none) to the collector. The
// same code said again for the same conversation and host replaces what was said.
// Frames and values are the collector's from now on.
func (l *lane) found(slot uint32, f finding.Finding) {
	l.d.finds = append(l.d.finds, found{slot: slot, Finding: f})
	if l.live && slot != 0 {
		if l.watching.told == nil {
			l.watching.told = map[uint32]struct{}{}
		}
		l.watching.told[slot] = struct{}{}
	}
}

// clone copies a finding that goes on growing, or whose parts are somebody else's.
func clone(f *finding.Finding) finding.Finding {
	c := *f
	c.Evidence.Frames, c.Values = slices.Clone(f.Evidence.Frames), slices.Clone(f.Values)
	return c
}

// sortedPending are the findings of hosts, in a fixed order.
func (l *lane) sortedPending() []*finding.Finding {
	var all []*finding.Finding
	for _, f := range l.pending {
		all = append(all, f)
	}
	clear(l.pending)
	slices.SortFunc(all, compareFindings)
	return all
}

// Malformed implements proto.Sink.
func (l *lane) Malformed(s *proto.Scope, reason string) {
	name := "packet"
	if s.Conv != 0 {
		if k := l.sockets[l.table.at(s.Conv).socket]; k != nil && k.spec != nil {
			name = k.spec.Name
		}
	}
	l.d.malformed = append(l.d.malformed, name+": "+reason)
}

// Carries implements proto.Sink.
func (l *lane) Carries(s *proto.Scope, name string) {
	if name != l.carried.name { // nearly always the one before
		i, ok := l.specs.names.index[name]
		if !ok {
			return
		}
		l.carried = carried{name: name, number: i}
	}
	i := l.carried.number
	if i < int(decode.Protos) && s.Pkt != nil && s.Pkt.Protos.Has(decode.Proto(i)) {
		return // the decoder has counted it
	}
	l.d.carry(i, s.FrameNo)
	l.carries(int(s.Around), s.FrameNo)
}

// carried is a name that an analyzer counted, and its number.
type carried struct {
	name   string
	number int
}

// carries counts an analyzer's protocol by the number of its name, unless the
// decoder or the analyzer itself counts it.
func (l *lane) carries(name int, frame uint64) {
	if name >= int(decode.Protos) {
		l.d.carry(name, frame)
	}
}

// Count implements proto.Sink.
func (l *lane) Count(c proto.Counter, key string, n uint64) {
	l.d.counts = append(l.d.counts, count{counter: c, key: key, n: n})
}

// Exchange implements proto.Sink.
func (l *lane) Exchange(s *proto.Scope, x *conn.Exchange) {
	switch {
	case s.Conv == 0:
	case l.reading:
		l.ended = append(l.ended, ended{s.Conv, *x})
	default:
		l.books.Exchange(l.table.at(s.Conv).book, x)
	}
}

// Publish implements proto.Sink.
func (l *lane) Publish(s *proto.Scope, body any) {
	l.d.events = append(l.d.events, event{slot: s.Conv, Event: proto.Event{Frame: s.FrameNo, Time: s.At, Body: body}})
}

// Secret implements proto.Sink.
func (l *lane) Secret(random []byte, label string) []byte { return l.secrets.get(random, label) }

// typeCode is the key of an ICMP counter, "3/1".
func typeCode(t, c uint8) string {
	return strconv.Itoa(int(t)) + "/" + strconv.Itoa(int(c))
}
