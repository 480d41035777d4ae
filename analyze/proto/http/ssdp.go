package http

import (
	"bytes"
	"slices"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// SSDP is the discovery of UPnP: HTTP heads in datagrams (UPnP Device
// Architecture 2.0, 1). Nobody waits for an answer.
func SSDP() proto.Spec {
	return proto.Spec{
		Name: "ssdp", Doc: "Simple Service Discovery Protocol (UPnP Device Architecture, 1)",
		Carrier: proto.UDP, Ports: []uint16{1900},
		Probe: probeSSDP,
		New:   func() proto.Analyzer { return ssdp{} },
	}
}

func probeSSDP(_ flow.Dir, b []byte) proto.Verdict {
	for _, start := range [...]string{"NOTIFY * HTTP/1.", "M-SEARCH * HTTP/1.", "HTTP/1.1 200 OK\r\n"} {
		if bytes.HasPrefix(b, []byte(start)) {
			return proto.Certain
		}
	}
	if bytes.HasPrefix(b, []byte(versionPrefix)) {
		return proto.Likely
	}
	return proto.No
}

type ssdp struct{}

// Data implements proto.Analyzer.
func (ssdp) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	var h head
	line, _, _ := cutLine(append(slices.Clip(b), '\n'), 0)
	if h.statusLine(line) {
		s.Count(proto.HTTPStatus, statusText(s, h.status))
	}
	return len(b), nil
}

// Gap implements proto.Analyzer.
func (ssdp) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End implements proto.Analyzer.
func (ssdp) End(*proto.Scope, proto.End) {}
