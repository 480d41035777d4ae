// Package dnp3 reads the Distributed Network Protocol (IEEE 1815) over TCP and
// UDP: indications of trouble that outstations send, and floods of requests.
package dnp3

import (
	"encoding/binary"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/frames"
)

// Codes of findings.
const (
	Trouble finding.Code = "dnp3.internal-indication"
	Flood   finding.Code = "dnp3.request-flood"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "dnp3", Doc: "Distributed Network Protocol 3, IEEE 1815",
		Carrier: proto.TCP | proto.UDP, Ports: []uint16{20000},
		First: func(_ flow.Dir, c byte) bool { return c == 0x05 },
		Probe: probe,
		New:   newAnalyzer,
		Codes: []finding.Def{
			{
				Code: Trouble, Severity: finding.Info,
				Doc: "An outstation said in its internal indications that something is wrong (IEEE 1815, 4.5.1): device trouble, unknown function or object, bad parameter, buffer overflow, bad configuration.",
				Metrics: []finding.Metric{
					{Name: "indication", Text: true, Doc: "what it said"},
					{Name: "outstation", Doc: "its address"},
					{Name: "answers", Merge: finding.Sum, Doc: "such answers"},
				},
			},
			{
				Code: Flood, Severity: finding.Notice,
				Doc: "A master sent ten frames or more within a second without waiting for an answer: it has one request open at a time (IEEE 1815, 4.3), and outstations are slow.",
				Metrics: []finding.Metric{
					{Name: "peak_per_second", Merge: finding.Max, Doc: "frames in a row within the worst second"},
					{Name: "frames", Merge: finding.Max, Doc: "frames to the outstation"},
					{Name: "answers", Merge: finding.Max, Doc: "frames of the outstation"},
				},
			},
		},
	}
}

const (
	headLen     = 10
	block       = 16
	crcLen      = 2
	minLength   = 5
	floodFrames = 10
	second      = 1_000_000_000
)

func probe(_ flow.Dir, b []byte) proto.Verdict {
	if len(b) < 2 {
		return proto.NeedMore
	}
	if b[0] != 0x05 || b[1] != 0x64 {
		return proto.No
	}
	if len(b) < headLen {
		return proto.NeedMore
	}
	if b[2] < minLength || crc(b[:8]) != binary.LittleEndian.Uint16(b[8:]) {
		return proto.No
	}
	return proto.Certain
}

// crc is CRC-16/DNP (IEEE 1815, 9.2.4.3).
func crc(b []byte) uint16 {
	const poly = 0xa6bc
	r := uint16(0)
	for _, c := range b {
		r ^= uint16(c)
		for range 8 {
			if r&1 != 0 {
				r = r>>1 ^ poly
			} else {
				r >>= 1
			}
		}
	}
	return ^r
}

type analyzer struct {
	frames.Reader

	second   int64
	in, peak int
	count    [2]int
}

func newAnalyzer() proto.Analyzer {
	a := &analyzer{}
	a.Length = func(_ flow.Dir, b []byte) (int, error) {
		if len(b) < 3 {
			return 0, nil
		}
		if b[0] != 0x05 || b[1] != 0x64 || b[2] < minLength {
			return 0, errFrame
		}
		user := int(b[2]) - minLength
		return headLen + user + crcLen*((user+block-1)/block), nil
	}
	a.Message = a.message
	a.Sync = func(dir flow.Dir, b []byte) bool { return probe(dir, b) == proto.Certain }
	return a
}

type fault string

func (f fault) Error() string { return string(f) }

const errFrame fault = "no DNP3 frame where one begins"

func (a *analyzer) message(s *proto.Scope, _ flow.Dir, b []byte, _ int) {
	const fromMaster = 0x80
	if b[3]&fromMaster != 0 {
		a.count[0]++
		if sec := s.Now() / second; sec != a.second {
			a.second, a.in = sec, 0
		}
		if a.in++; a.in >= floodFrames && a.in > a.peak {
			a.peak = a.in
			s.Report(Flood, finding.Num(a.in), finding.Num(a.count[0]), finding.Num(a.count[1]))
		}
		return
	}
	a.count[1]++
	a.in = 0
	// Transport and application head: control, function, indications.
	const solicited, unsolicited = 0x81, 0x82
	if len(b) < headLen+5 || b[headLen]&0x40 == 0 || b[headLen+2] != solicited && b[headLen+2] != unsolicited {
		return
	}
	iin := binary.LittleEndian.Uint16(b[headLen+3:])
	names := [...]struct {
		bit  uint16
		text string
	}{
		{1 << 6, "device trouble"},
		{1 << 8, "function not supported"},
		{1 << 9, "object unknown"},
		{1 << 10, "parameter error"},
		{1 << 11, "event buffer overflow"},
		{1 << 13, "configuration corrupt"},
	}
	for _, n := range names {
		if iin&n.bit != 0 {
			s.Report(Trouble, finding.Text(n.text), finding.Num(binary.LittleEndian.Uint16(b[6:])), finding.Num(1))
			return
		}
	}
}

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
