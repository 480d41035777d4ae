package http2

import (
	"encoding/binary"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// Codes of findings; those of statuses are http.* (package internal/web).
const (
	StreamReset finding.Code = "http2.stream-reset"
	GoAway      finding.Code = "http2.goaway"
	GRPCError   finding.Code = "grpc.error"
	NoWindow    finding.Code = "http2.window-stall"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	name := finding.Metric{Name: "name", Text: true, Doc: "its name"}
	const target = "target"
	fromServer := finding.Metric{Name: "from_server", Doc: "1: the server sent it, 0: the client"}
	return proto.Spec{
		Name: "http2", Doc: "HTTP/2 (RFC 9113) and gRPC",
		Also:    []string{"grpc"},
		Carrier: proto.TCP,
		Ports:   []uint16{80, 443, 8080, 50051}, Unlisted: []uint16{443, 50051},
		First: func(_ flow.Dir, c byte) bool { return c == 0 || c == preface[0] },
		Probe: probe,
		New:   func() proto.Analyzer { return newAnalyzer() },
		Codes: []finding.Def{
			{
				Code: StreamReset, Severity: finding.Notice, Metrics: []finding.Metric{
					{Name: "error", Doc: "number of the error code"},
					name,
					fromServer,
					{Name: target, Text: true, Doc: "path of the request"},
					{Name: "streams", Merge: finding.Sum, Doc: "streams ended so"},
				},
				Doc: "A stream was ended by RST_STREAM with an error (RFC 9113, 7). CANCEL and NO_ERROR are normal and not reported.",
			},
			{
				Code: GoAway, Severity: finding.Warning, Metrics: []finding.Metric{
					{Name: "error", Doc: "number of the error code"},
					name,
					fromServer,
					{Name: "debug", Text: true, Doc: "text that the sender added"},
					{Name: "open_streams", Doc: "streams that were open"},
				},
				Doc: "One side ended the connection with an error (GOAWAY; RFC 9113, 6.8). GOAWAY with NO_ERROR is an orderly end and not reported.",
			},
			{
				Code: GRPCError, Severity: finding.Notice, Metrics: []finding.Metric{
					{Name: "status", Doc: "gRPC status"},
					name,
					{Name: target, Text: true, Doc: "method called"},
					{Name: "message", Text: true, Doc: "grpc-message"},
					{Name: "calls", Merge: finding.Sum, Doc: "calls that failed"},
				},
				Doc: "A gRPC call ended with a status other than OK (gRPC, statuscodes.md); the HTTP status is 200 all the same.",
			},
			{
				Code: NoWindow, Severity: finding.Notice, Metrics: []finding.Metric{
					{Name: target, Text: true, Doc: "path of the request"},
					{Name: "stalled_seconds", Merge: finding.Max, Doc: "longest wait for WINDOW_UPDATE"},
					{Name: "by_server", Doc: "1: the server did not open its window, 0: the client"},
				},
				Doc: "A sender used up the flow control window of HTTP/2 (RFC 9113, 5.2) and waited 1 s or more until the receiver opened it: the application there does not read.",
			},
		},
	}
}

// preface is what a client sends first (RFC 9113, 3.4).
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// probe is certain of the preface; a server begins with SETTINGS, which is likely.
func probe(_ flow.Dir, b []byte) proto.Verdict {
	if n := min(len(b), len(preface)); string(b[:n]) == preface[:n] {
		if n < len(preface) {
			return proto.NeedMore
		}
		return proto.Certain
	}
	if len(b) == 0 || b[0] != 0 {
		return proto.No
	}
	if len(b) < frameHeader {
		if len(b) > 3 && b[3] != typeSettings {
			return proto.No
		}
		return proto.NeedMore
	}
	h := readHeader(b)
	if h.typ != typeSettings || h.flags&^flagAck != 0 || h.stream != 0 || h.length%6 != 0 || h.length > 6*32 ||
		h.flags&flagAck != 0 && h.length != 0 {
		return proto.No
	}
	for rest := b[frameHeader:min(len(b), frameHeader+h.length)]; len(rest) >= 2; rest = rest[min(6, len(rest)):] {
		// Identifiers in use end at 16 (RFC 9218); GREASE has others.
		if id := binary.BigEndian.Uint16(rest); id == 0 || id > 16 && id&0x0f0f != 0x0a0a {
			return proto.No
		}
	}
	return proto.Likely
}
