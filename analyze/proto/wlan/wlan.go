// Package wlan reads the management frames of IEEE 802.11 (9.3.3) that refuse or
// end an association, and the four-way handshake of WPA (12.7.6).
package wlan

import (
	"encoding/binary"

	"netwhy/analyze/decode"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// Codes of findings.
const (
	AuthFailed  finding.Code = "wlan.auth-failed"
	AssocFailed finding.Code = "wlan.association-refused"
	Deauth      finding.Code = "wlan.deauthenticated"
	Handshake   finding.Code = "wlan.handshake-failed"
)

// Spec declares the analyzer of management frames, and the codes of both.
func Spec() proto.Spec {
	station := finding.Metric{Name: "station", Text: true, Doc: "the station"}
	ap := finding.Metric{Name: "access_point", Text: true, Doc: "the access point"}
	times := finding.Metric{Name: "times", Merge: finding.Sum, Doc: "times"}
	return proto.Spec{
		Name: "wlan", Doc: "IEEE 802.11 management frames",
		Carrier: proto.Link, Numbers: []uint16{0},
		New: func() proto.Analyzer { return analyzer{} },
		Codes: []finding.Def{
			{
				Code: AuthFailed, Severity: finding.Notice,
				Doc: "The access point refused the authentication (IEEE 802.11, 9.4.1.9): with a shared key (WEP) status 15 is a wrong key.",
				Metrics: []finding.Metric{
					station, ap,
					{Name: "status", Doc: "status code"},
					{Name: "reason", Text: true, Doc: "its meaning"},
					{Name: "shared_key", Merge: finding.Max, Doc: "1 when WEP's shared key was used"},
					times,
				},
			},
			{
				Code: AssocFailed, Severity: finding.Notice,
				Doc:     "The access point refused the association (IEEE 802.11, 9.4.1.9).",
				Metrics: []finding.Metric{station, ap, {Name: "status", Doc: "status code"}, {Name: "reason", Text: true, Doc: "its meaning"}, times},
			},
			{
				Code: Deauth, Severity: finding.Info,
				Doc: "A station was sent away or left (IEEE 802.11, 9.4.1.7). One is roaming; many to all stations are an attack that forges them, unless management frames are protected.",
				Metrics: []finding.Metric{
					station, ap,
					{Name: "code", Doc: "reason code"},
					{Name: "reason", Text: true, Doc: "its meaning"},
					{Name: "broadcast", Merge: finding.Max, Doc: "1 when sent to all stations"},
					times,
				},
			},
			{
				Code: Handshake, Severity: finding.Notice,
				Doc: "The four-way handshake did not get beyond the station's first answer, twice or more: the passphrases differ (IEEE 802.11, 12.7.6).",
				Metrics: []finding.Metric{
					station, ap,
					{Name: "attempts", Merge: finding.Max, Doc: "answers of the station without the access point's third message"},
				},
			},
		},
	}
}

// Subtypes of management frames (IEEE 802.11, 9.2.4.1.3).
const (
	assocResponse, reassocResponse = 1, 3
	disassociation                 = 10
	authentication                 = 11
	deauthentication               = 12
	headLen                        = 24
)

type analyzer struct{}

// Data takes one frame from its first byte.
func (a analyzer) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	p := s.Packet()
	if p == nil || !p.Protos.Has(decode.WLAN) || p.L2Kind != decode.L2WLAN || s.Duplicate() || len(b) < headLen || b[0]&0x0f != 0 {
		return len(b), nil
	}
	at := headLen
	if b[1]&0x80 != 0 { // HT control
		at += 4
	}
	if len(b) < at {
		return len(b), nil
	}
	to, from := [6]byte(b[4:10]), [6]byte(b[10:16])
	a.frame(s, b[0]>>4, b[1]&0x40 != 0, to, from, [6]byte(b[16:22]), b[at:])
	return len(b), nil
}

func (analyzer) frame(s *proto.Scope, subtype byte, protected bool, to, from, ap [6]byte, v []byte) {
	station := to
	if to == ap {
		station = from
	}
	who, where, one := finding.Text(proto.MACText(station)), finding.Text(proto.MACText(ap)), finding.Num(1)
	switch subtype {
	case authentication:
		if protected || len(v) < 6 {
			return
		}
		alg, status := v[0], binary.LittleEndian.Uint16(v[4:])
		if status != 0 && from == ap && status != 76 && status != 126 { // SAE asks for a token or goes on (12.4)
			shared := 0
			if alg == 1 {
				shared = 1
			}
			s.Report(AuthFailed, who, where, finding.Num(status), finding.Text(statusText(status)), finding.Num(shared), one)
		}
	case assocResponse, reassocResponse:
		if protected || len(v) < 4 {
			return
		}
		if status := binary.LittleEndian.Uint16(v[2:]); status != 0 {
			s.Report(AssocFailed, who, where, finding.Num(status), finding.Text(statusText(status)), one)
		}
	case disassociation, deauthentication:
		if protected || len(v) < 2 {
			return
		}
		code, all := binary.LittleEndian.Uint16(v), 0
		if to[0]&1 != 0 {
			all = 1
		}
		s.Report(Deauth, who, where, finding.Num(code), finding.Text(reasonText(code)), finding.Num(all), one)
	}
}

// statusText names status codes (IEEE 802.11, table 9-50).
func statusText(code uint16) string {
	switch code {
	case 1:
		return "unspecified failure"
	case 10:
		return "cannot support all capabilities"
	case 12:
		return "association denied"
	case 13:
		return "authentication algorithm not supported"
	case 14:
		return "authentication sequence number out of order"
	case 15:
		return "challenge failure"
	case 16:
		return "authentication timeout"
	case 17:
		return "too many stations"
	case 18:
		return "rates not supported"
	case 30:
		return "try again later"
	case 40, 41, 42, 43, 44, 45:
		return "security element not accepted"
	case 53:
		return "invalid PMKID"
	}
	return "other"
}

// reasonText names reason codes (IEEE 802.11, table 9-49).
func reasonText(code uint16) string {
	names := [...]string{
		"other", "unspecified", "previous authentication not valid", "station leaves", "inactivity", "too many stations",
		"frame of a station not authenticated", "frame of a station not associated", "station leaves the network",
		"station not authenticated", "power capability", "supported channels", "BSS transition", "invalid element",
		"message integrity check failed", "4-way handshake timeout", "group key handshake timeout",
		"handshake element differs", "invalid group cipher", "invalid pairwise cipher", "invalid key management",
		"unsupported RSN version", "invalid RSN capabilities", "802.1X authentication failed", "cipher suite rejected",
	}
	if int(code) < len(names) {
		return names[code]
	}
	return names[0]
}

// Gap does nothing: there is no stream.
func (analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End does nothing: what is said is said.
func (analyzer) End(*proto.Scope, proto.End) {}
