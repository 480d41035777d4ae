// Package netbios reads the name and datagram services of NetBIOS (RFC 1002):
// names that two hosts want.
package netbios

import (
	"encoding/binary"
	"strings"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// Conflict is reported when a host does not get its name.
const Conflict finding.Code = "nbns.name-conflict"

// Names declares the name service.
func Names() proto.Spec {
	return proto.Spec{
		Name: "nbns", Doc: "NetBIOS name service, RFC 1002, 4.2",
		Carrier: proto.UDP, Ports: []uint16{137}, Weak: true,
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			if len(b) < nameAt+1+nameLen || b[nameAt] != nameLen || b[4] != 0 || b[5] > 1 {
				return proto.No
			}
			for _, c := range b[nameAt+1 : nameAt+1+nameLen] {
				if c < 'A' || c > 'P' { // half a byte each (RFC 1001, 14.1)
					return proto.No
				}
			}
			return proto.Certain
		},
		New: func() proto.Analyzer { return names{} },
		Codes: []finding.Def{{
			Code: Conflict, Severity: finding.Notice,
			Doc: "A host was told that its name belongs to another (RFC 1002, 4.2.6: ACT_ERR or CFT_ERR).",
			Metrics: []finding.Metric{
				{Name: "name", Text: true, Doc: "the name"},
				{Name: "owner", Text: true, Doc: "who said so"},
				{Name: "times", Merge: finding.Sum, Doc: "such answers"},
			},
		}},
	}
}

// Datagrams declares the datagram service, which carries the browser protocol.
func Datagrams() proto.Spec {
	return proto.Spec{
		Name: "nbdgm", Doc: "NetBIOS datagram service, RFC 1002, 4.4",
		Also:    []string{"smb", "browser"},
		Carrier: proto.UDP, Ports: []uint16{138}, Weak: true,
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			const first, last = 0x10, 0x16
			if len(b) >= 14 && b[0] >= first && b[0] <= last && b[1]&0xf0 == 0 {
				return proto.Certain
			}
			return proto.No
		},
		New: func() proto.Analyzer { return datagrams{} },
	}
}

const (
	nameAt, nameLen = 12, 32
	activeErr       = 6
	conflictErr     = 7
)

type names struct{}

// Data takes one message.
func (names) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	if len(b) < nameAt+1+nameLen || s.Duplicate() {
		return len(b), nil
	}
	flags := binary.BigEndian.Uint16(b[2:])
	const response, registration, opcode = 0x8000, 5, 11
	if code := flags & 15; flags&response != 0 && flags>>opcode&15 == registration && (code == activeErr || code == conflictErr) {
		owner := s.Client().Addr()
		if dir == flow.ToClient {
			owner = s.Server().Addr()
		}
		s.Report(Conflict, finding.Text(decode(b[nameAt+1:nameAt+1+nameLen])), finding.Text(owner.String()), finding.Num(1))
	}
	return len(b), nil
}

func decode(b []byte) string {
	out := make([]byte, 0, nameLen/2)
	for i := 0; i+1 < len(b)-2; i += 2 { // the last byte is the kind of name
		out = append(out, (b[i]-'A')<<4|(b[i+1]-'A')&15)
	}
	return strings.TrimRight(string(out), " ")
}

// Gap does nothing: there is no stream.
func (names) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End does nothing: what is said is said.
func (names) End(*proto.Scope, proto.End) {}

type datagrams struct{}

// Data names what one datagram carries.
func (datagrams) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	text := string(b)
	if strings.Contains(text, "\xffSMB") {
		s.Carries("smb")
		if strings.Contains(text, "\\MAILSLOT\\BROWSE") || strings.Contains(text, "\\MAILSLOT\\LANMAN") {
			s.Carries("browser")
		}
	}
	return len(b), nil
}

// Gap does nothing: there is no stream.
func (datagrams) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End does nothing: what is said is said.
func (datagrams) End(*proto.Scope, proto.End) {}
