package tls

import (
	"encoding/binary"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/assigned"
	"netwhy/analyze/proto/internal/handshake"
	"netwhy/analyze/proto/internal/tlsmsg"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: name, Doc: "TLS 1.0 to 1.3 (RFC 2246, 4346, 5246, 8446)",
		Carrier: proto.TCP, Anywhere: true, Taken: assigned.TLS.Taken,
		Ports: []uint16{443, 465, 636, 853, 989, 990, 992, 993, 994, 995, 3269, 5061, 8443, 8883},
		First: func(_ flow.Dir, c byte) bool {
			return c&oldHelloFlag != 0 || c >= handshake.RecordChangeCipher && c <= handshake.RecordHeartbeat
		},
		Probe:  probe,
		New:    func() proto.Analyzer { return newAnalyzer() },
		Wraps:  true,
		Counts: true,
		Again:  again,
		Also:   tlsmsg.SchemaNames(),
		Codes:  handshake.Defs(),
	}
}

// again counts a segment that was sent again fast, or in vain and cut.
func again(s *proto.Scope, _ flow.Dir, b []byte) {
	if cut(s) && refused(b) {
		rest(s, b)
		return
	}
	counted(s)
}

// name is the protocol as Wireshark and the report call it.
const name = "tls"

// Sizes of records (RFC 8446, 5.1 and 5.2; RFC 5246, 6.2.3).
const (
	headerLen    = 5
	maxRecord    = 1<<14 + 2048
	messageLen   = 4         // header of a handshake message
	maxMessage   = 256 << 10 // of a handshake message; chains of 100 KiB are in use
	minOldHello  = 9         // SSL 2: type, version, three lengths
	oldHelloFlag = 0x80
)

// header reads a record's header; ok is false for bytes that are none.
func header(b []byte) (typ uint8, version uint16, n int, ok bool) {
	if len(b) < headerLen {
		return 0, 0, 0, false
	}
	typ, version, n = b[0], binary.BigEndian.Uint16(b[1:]), int(binary.BigEndian.Uint16(b[3:]))
	return typ, version, n, plausible(b) && n <= maxRecord
}

// plausible looks at as much of a header as is there.
func plausible(b []byte) bool {
	if len(b) > 0 && (b[0] < handshake.RecordChangeCipher || b[0] > handshake.RecordHeartbeat) ||
		len(b) > 1 && b[1] != 3 || len(b) > 2 && b[2] > 4 {
		return false
	}
	return len(b) < headerLen || binary.BigEndian.Uint16(b[3:]) > 0 || b[0] == handshake.RecordData
}

// probe is certain of hellos and of two records in a row; the middle of a
// connection is likely.
func probe(_ flow.Dir, b []byte) proto.Verdict {
	if len(b) == 0 {
		return proto.NeedMore
	}
	if isOldHello(b) {
		return proto.Likely
	}
	if !plausible(b) {
		return proto.No
	}
	typ, _, n, ok := header(b)
	switch {
	case len(b) <= headerLen:
		return proto.NeedMore
	case !ok:
		return proto.No
	case typ == handshake.RecordHandshake:
		t := b[headerLen]
		if t == tlsmsg.TypeClientHello || t == tlsmsg.TypeServerHello || t == tlsmsg.TypeHelloRequest {
			return proto.Certain
		}
	case typ == handshake.RecordChangeCipher && (n != 1 || b[headerLen] != 1):
		return proto.No
	case typ == handshake.RecordAlert && n == 2 && len(b) >= headerLen+2 && !handshake.Readable(b[headerLen:headerLen+2]):
		return proto.No
	}
	if next := headerLen + n; len(b) >= next+headerLen {
		if _, _, _, ok := header(b[next:]); ok {
			return proto.Certain
		}
		return proto.No
	}
	return proto.Likely
}

// isOldHello recognises a ClientHello of SSL 2 that offers SSL 3 or TLS.
func isOldHello(b []byte) bool {
	return len(b) >= minOldHello+2 && b[0]&oldHelloFlag != 0 && b[2] == tlsmsg.TypeClientHello &&
		(b[3] == 3 && b[4] <= 4 || b[3] == 0 && b[4] == 2) && binary.BigEndian.Uint16(b[5:])%3 == 0
}
