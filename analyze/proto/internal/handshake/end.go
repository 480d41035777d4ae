package handshake

import (
	"strconv"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/tlsmsg"
)

// Levels of alerts (RFC 5246, 7.2). TLS 1.3 ignores the level: everything but
// close_notify and user_canceled is fatal (RFC 8446, 6).
const (
	levelWarning = 1
	levelFatal   = 2

	closeNotify = 0
)

// Readable reports whether two bytes are an alert in clear text.
func Readable(b []byte) bool {
	return len(b) == 2 && (b[0] == levelWarning || b[0] == levelFatal) && tlsmsg.AlertName(b[1]) != ""
}

// Alert takes an alert in clear text (or decrypted).
func (h *Session) Alert(s *proto.Scope, dir flow.Dir, level, desc uint8) {
	if desc == closeNotify {
		if !h.done && !h.failed && h.hello.Frame != 0 {
			h.failed, h.failure = true, "close_notify"
		}
		return
	}
	code := WarningAlert
	if level == levelFatal {
		code = FatalAlert
	}
	chain := h.judged()
	v := []finding.Value{
		finding.Num(desc), finding.Text(tlsmsg.AlertName(desc)), finding.Text(tlsmsg.Meaning(desc, dir == flow.ToClient)),
		bit(dir == flow.ToClient), bit(!h.done), finding.Text(h.SNI()), finding.Text(h.clientMax()),
		finding.Text(h.clientMin()), finding.Text(h.serverVersion()),
		finding.Text(chain.Subject), finding.Text(chain.Issuer), finding.Num(chain.Length),
		bit(chain.SelfSigned), finding.Num(h.expired()),
	}
	s.Report(code, v...)
	if level == levelFatal {
		s.Attr("tls.alert", tlsmsg.AlertName(desc))
		if !h.failed {
			h.failed, h.failure = true, tlsmsg.AlertName(desc)
		}
		if !h.done {
			h.last = When{s.Now(), s.Frame()}
			h.exchange(s)
		}
	}
}

func (h *Session) clientMin() string {
	if h.Client == nil || h.Client.Min == 0 {
		return ""
	}
	return tlsmsg.VersionName(h.Client.Min)
}

func (h *Session) serverVersion() string {
	if h.Server == nil {
		return ""
	}
	return tlsmsg.VersionName(h.Server.Version)
}

// judged is what is known of the server's chain.
func (h *Session) judged() *tlsmsg.Chain {
	if h.chain == nil {
		return &tlsmsg.Chain{}
	}
	return h.chain
}

// expired is how long the server's certificate has been expired, s.
func (h *Session) expired() float64 {
	if h.chain == nil || h.chain.Expired < 0 {
		return 0
	}
	return float64(h.chainAt-h.chain.NotAfter.UnixNano()) / float64(second)
}

// Foreign takes the first bytes of an answer that is not TLS.
func (h *Session) Foreign(s *proto.Scope, b []byte) {
	if h.failed || h.answered || h.Client == nil {
		return
	}
	h.failed, h.failure = true, "not TLS"
	const shown = 32
	s.Report(NotTLS, finding.Text(h.SNI()), finding.Text(string(b[:min(len(b), shown)])))
}

// End says what became of a handshake that was not completed. now is the time
// up to which nothing more came.
func (h *Session) End(s *proto.Scope, why proto.End, now int64) {
	if h.Client == nil || h.hello.Frame == 0 || h.oneSided {
		return
	}
	if h.done {
		h.unused(s, why, now)
		return
	}
	waited := max(now-h.last.At, 0)
	noAnswer := !h.answered
	at := *s // the proof is the last message, not the frame at which the conversation was folded
	at.At, at.FrameNo = h.last.At, h.last.Frame
	switch {
	case h.failed:
	case waited >= stalled:
		h.failure = "stalled"
		at.Report(HandshakeStalled, finding.Text(h.SNI()), finding.Text(h.stage), bit(h.lastDir == flow.ToServer),
			finding.Num(float64(waited)/float64(second)), bit(noAnswer))
	case why == proto.Closed || why == proto.Reset:
		h.failure = "closed"
		if why == proto.Reset {
			h.failure = "reset"
		}
		at.Report(HandshakeCut, finding.Text(h.SNI()), finding.Text(h.stage), bit(why == proto.Reset),
			finding.Num(float64(now-h.hello.At)/float64(second)), bit(noAnswer))
	default:
		return // the capture ended in the middle of it
	}
	h.exchange(&at)
}

// unused reports a connection that was closed before the client said anything.
func (h *Session) unused(s *proto.Scope, why proto.End, now int64) {
	if h.data || h.failed || h.Client.EarlyData || why != proto.Closed && why != proto.Reset {
		return
	}
	at := *s
	at.At, at.FrameNo = h.last.At, h.last.Frame
	chain := h.judged()
	at.Report(ClosedUnused, finding.Text(h.SNI()), finding.Text(chain.Subject), finding.Text(chain.Issuer),
		finding.Num(chain.Length), bit(chain.SelfSigned), bit(why == proto.Reset), finding.Num(float64(max(now-h.last.At, 0))/ms))
}

// AlertKey is the key of an alert in the report's counter: its number, or
// "encrypted".
func AlertKey(b []byte) string {
	if Readable(b) {
		return strconv.Itoa(int(b[1]))
	}
	return "encrypted"
}
