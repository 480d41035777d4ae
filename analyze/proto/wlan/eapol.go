package wlan

import (
	"cmp"
	"encoding/binary"
	"slices"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// EAPFailed is reported for a login by 802.1X that was refused.
const EAPFailed finding.Code = "eap.failure"

// EAPOL declares the analyzer of IEEE 802.1X: logins, and the keys of Wi-Fi.
func EAPOL() proto.Spec {
	return proto.Spec{
		Name: "eapol", Doc: "EAP over LAN, IEEE 802.1X",
		Carrier: proto.Link, Numbers: []uint16{0x888e},
		New: func() proto.Analyzer { return &keys{pairs: map[[12]byte]*progress{}} },
		Codes: []finding.Def{{
			Code: EAPFailed, Severity: finding.Notice,
			Doc: "The authenticator refused the login (RFC 3748, 4.2).",
			Metrics: []finding.Metric{
				{Name: "station", Text: true, Doc: "who wanted in"},
				{Name: "user", Text: true, Doc: "identity that it gave"},
				{Name: "times", Merge: finding.Sum, Doc: "refusals"},
			},
		}},
	}
}

const (
	packetEAP, packetKey      = 0, 3
	eapResponse, eapFailure   = 2, 4
	eapIdentity               = 1
	infoPairwise, infoInstall = 0x0008, 0x0040
	infoAck, infoMIC          = 0x0080, 0x0100
	infoSecure                = 0x0200
	manyAttempts              = 2
	maxPairs                  = 4096
)

// progress is how far a station came.
type progress struct {
	station, ap [6]byte
	answers     uint64 // second messages since the last third
	ev          finding.Evidence
	user        string
}

type keys struct{ pairs map[[12]byte]*progress }

// Data takes one EAPOL frame.
func (k *keys) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	p := s.Packet()
	if p == nil || len(b) < 4 {
		return len(b), nil
	}
	src, dst, _ := p.MACs(s.Bytes())
	v := b[4:min(len(b), 4+int(binary.BigEndian.Uint16(b[2:])))]
	switch b[1] {
	case packetEAP:
		k.eap(s, src, dst, v)
	case packetKey:
		k.key(s, src, dst, v)
	}
	return len(b), nil
}

func (k *keys) of(station, ap [6]byte) *progress {
	id := [12]byte(append(append(make([]byte, 0, 12), station[:]...), ap[:]...))
	x := k.pairs[id]
	if x == nil {
		x = &progress{station: station, ap: ap}
		if len(k.pairs) < maxPairs {
			k.pairs[id] = x
		}
	}
	return x
}

func (k *keys) eap(s *proto.Scope, src, dst [6]byte, v []byte) {
	switch {
	case len(v) < 4 || s.Duplicate():
	case v[0] == eapResponse && len(v) > 5 && v[4] == eapIdentity:
		const enough = 128
		k.of(src, [6]byte{}).user = string(v[5:min(len(v), 5+enough)])
	case v[0] == eapFailure:
		s.Report(EAPFailed, finding.Text(proto.MACText(dst)), finding.Text(k.of(dst, [6]byte{}).user), finding.Num(1))
	}
}

// key follows the four-way handshake (IEEE 802.11, 12.7.6).
func (k *keys) key(s *proto.Scope, src, dst [6]byte, v []byte) {
	if len(v) < 3 || s.Duplicate() {
		return
	}
	info := binary.BigEndian.Uint16(v[1:])
	switch {
	case info&infoPairwise == 0:
	case info&(infoAck|infoMIC) == infoAck|infoMIC && info&infoInstall != 0: // third
		*k.of(dst, src) = progress{station: dst, ap: src}
	case info&infoAck == 0 && info&infoMIC != 0 && info&infoSecure == 0: // second
		x := k.of(src, dst)
		x.answers++
		x.ev.Add(s.Frame(), s.Now())
	}
}

// Gap does nothing: there is no stream.
func (*keys) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End tells whose handshakes did not go on.
func (k *keys) End(s *proto.Scope, _ proto.End) {
	var all []*progress
	for _, x := range k.pairs {
		if x.answers >= manyAttempts {
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(a, b *progress) int { return cmp.Compare(a.ev.First, b.ev.First) })
	for _, x := range all {
		at := *s
		at.FrameNo, at.At = x.ev.Last, x.ev.End
		at.Report(Handshake, finding.Text(proto.MACText(x.station)), finding.Text(proto.MACText(x.ap)), finding.Num(x.answers))
	}
}
