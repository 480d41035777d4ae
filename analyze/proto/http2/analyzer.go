package http2

import (
	"encoding/binary"
	"slices"

	"golang.org/x/net/http2/hpack"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/web"
)

// Bounds.
const (
	maxStreams   = 1024
	maxBlock     = 48 << 10 // of one header block, compressed; below proto.MaxBuffered
	maxString    = 16 << 10 // of one header field
	maxTable     = 64 << 10 // dynamic table; the default is 4 KiB
	maxFields    = 256      // of one block
	defaultTable = 4 << 10
	noError      = 0
	cancel       = 8
	windowStall  = web.Second
	unanswered   = web.Second
)

// analyzer is one connection.
type analyzer struct {
	half    [2]half
	streams map[uint32]*stream
	asked   int // requests that are among its first
	began   bool
	grpc    bool
	last    int64
}

// half is one direction.
type half struct {
	dec      *hpack.Decoder
	blind    bool   // header blocks cannot be read any more
	block    []byte // of HEADERS and CONTINUATION so far
	open     header // the HEADERS that the block began with
	inBlock  bool
	prefaced bool
	skip     int    // bytes of a frame that nobody needs
	ending   uint32 // stream that ends with the frame being skipped; 0: none
	inData   uint32 // stream whose DATA is being skipped
	lost     bool

	// Flow control of what this direction sends (RFC 9113, 5.2).
	window  int64 // of the connection
	initial int64 // of new streams
	dry     int64 // since when the connection's window is used up; 0: it is not
}

func newAnalyzer() *analyzer {
	a := &analyzer{streams: map[uint32]*stream{}}
	for i := range a.half {
		h := &a.half[i]
		h.dec = hpack.NewDecoder(defaultTable, nil)
		h.dec.SetMaxStringLength(maxString)
		h.dec.SetAllowedMaxDynamicTableSize(maxTable)
		h.window, h.initial = initialWindow, initialWindow
	}
	return a
}

// Data implements proto.Analyzer. It uses one frame a call, or a piece of one.
func (a *analyzer) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	a.last = s.Now()
	if !a.began {
		a.began = true
		s.App("http2")
	}
	h := &a.half[dir]
	if h.skip > 0 {
		return a.skipped(s, dir, min(h.skip, len(b))), nil
	}
	if dir == flow.ToServer && !h.prefaced {
		n := min(len(b), len(preface))
		if string(b[:n]) == preface[:n] {
			if n < len(preface) {
				return 0, nil
			}
			h.prefaced = true
			return n, nil
		}
		h.prefaced = true
	}
	if len(b) < frameHeader {
		return 0, nil
	}
	f := readHeader(b)
	if h.lost || f.typ > lastType && f.length > maxBlock {
		if !f.plausible() {
			h.lost = true
			return len(b), nil
		}
		h.lost = false
	}
	if f.typ == typeData {
		return a.data(s, dir, f, b), nil
	}
	if f.length > maxBlock {
		if f.typ == typeHeaders || f.typ == typeContinuation || f.typ == typePushPromise {
			h.blind, h.inBlock, h.block = true, false, nil
			s.Malformed("HTTP/2 header block longer than servers take")
		}
		h.skip = f.length
		return frameHeader, nil
	}
	if len(b) < frameHeader+f.length {
		return 0, nil
	}
	a.frame(s, dir, f, b[frameHeader:frameHeader+f.length])
	return frameHeader + f.length, nil
}

// data begins a DATA frame: its bytes are counted and not kept.
func (a *analyzer) data(s *proto.Scope, dir flow.Dir, f header, _ []byte) int {
	h := &a.half[dir]
	h.skip, h.inData, h.ending = f.length, f.stream, 0
	if f.flags&flagEndStream != 0 {
		h.ending = f.stream
	}
	if st := a.streams[f.stream]; st != nil {
		st.bytes(dir, frameHeader, s.Now(), s.Frame())
	}
	a.spend(s, dir, f)
	if f.length == 0 {
		a.dataEnd(s, dir)
	}
	return frameHeader
}

// skipped takes n bytes of the frame being skipped.
func (a *analyzer) skipped(s *proto.Scope, dir flow.Dir, n int) int {
	h := &a.half[dir]
	h.skip -= n
	if st := a.streams[h.inData]; st != nil && h.inData != 0 {
		st.bytes(dir, n, s.Now(), s.Frame())
	}
	if h.skip == 0 {
		a.dataEnd(s, dir)
	}
	return n
}

func (a *analyzer) dataEnd(s *proto.Scope, dir flow.Dir) {
	h := &a.half[dir]
	h.inData = 0
	if id := h.ending; id != 0 {
		h.ending = 0
		a.endStream(s, dir, id)
	}
}

// frame takes one whole frame other than DATA.
func (a *analyzer) frame(s *proto.Scope, dir flow.Dir, f header, b []byte) {
	h := &a.half[dir]
	if h.inBlock && (f.typ != typeContinuation || f.stream != h.open.stream) {
		s.Malformed("HTTP/2 header block interrupted by another frame") // RFC 9113, 4.3
		h.blind, h.inBlock, h.block = true, false, nil
	}
	switch f.typ {
	case typeHeaders, typePushPromise:
		rest, ok := unpad(f, b)
		if f.typ == typePushPromise && ok {
			if ok = len(rest) >= 4; ok {
				rest = rest[4:]
			}
		}
		if !ok {
			s.Malformed("HTTP/2 padding longer than its frame")
			h.blind = true
			return
		}
		h.open, h.inBlock = f, true
		h.block = append(h.block[:0], rest...)
		a.block(s, dir, f)
	case typeContinuation:
		if !h.inBlock {
			return
		}
		if len(h.block)+len(b) > maxBlock {
			s.Malformed("HTTP/2 header block longer than servers take")
			h.blind, h.inBlock, h.block = true, false, nil
			return
		}
		h.block = append(h.block, b...)
		a.block(s, dir, f)
	case typeSettings:
		a.settings(dir, f, b)
	case typeRST:
		if len(b) == 4 {
			a.reset(s, dir, f.stream, binary.BigEndian.Uint32(b))
		}
	case typeGoAway:
		if len(b) >= 8 {
			a.goAway(s, dir, b)
		}
	case typeWindowUpdate:
		if len(b) == 4 {
			a.windowUpdate(s, dir, f.stream, int64(binary.BigEndian.Uint32(b)&0x7fffffff))
		}
	}
}

// block decodes a header block when its last frame is there.
func (a *analyzer) block(s *proto.Scope, dir flow.Dir, f header) {
	if f.flags&flagEndHeaders == 0 {
		return
	}
	h := &a.half[dir]
	h.inBlock = false
	open := h.open
	var fs fields
	if !h.blind {
		count := 0
		h.dec.SetEmitEnabled(true)
		h.dec.SetEmitFunc(func(hf hpack.HeaderField) {
			if count++; count <= maxFields {
				fs.take(hf)
			}
		})
		if _, err := h.dec.Write(h.block); err != nil || h.dec.Close() != nil {
			s.Malformed("HTTP/2 header compression broken")
			h.blind = true
			fs = fields{}
		}
	}
	if open.typ == typePushPromise {
		return
	}
	a.headers(s, dir, open, &fs)
	if open.flags&flagEndStream != 0 {
		a.endStream(s, dir, open.stream)
	}
}

func (a *analyzer) settings(dir flow.Dir, f header, b []byte) {
	if f.flags&flagAck != 0 {
		return
	}
	other := &a.half[dir.Reverse()] // a setting binds what the other side sends
	for ; len(b) >= 6; b = b[6:] {
		v := binary.BigEndian.Uint32(b[2:])
		switch binary.BigEndian.Uint16(b) {
		case settingTableSize:
			other.dec.SetAllowedMaxDynamicTableSize(min(v, maxTable))
		case settingInitialWindow:
			delta := int64(v) - other.initial
			other.initial = int64(v)
			for _, st := range a.streams {
				st.window[dir.Reverse()] += delta
			}
		}
	}
}

func (a *analyzer) reset(s *proto.Scope, dir flow.Dir, id, code uint32) {
	st := a.streams[id]
	if code != noError && code != cancel {
		target := ""
		if st != nil {
			target = st.q.Target
		}
		s.Report(StreamReset, finding.Num(code), finding.Text(errorName(code)), web.Bit(dir == flow.ToClient),
			finding.Text(target), finding.Num(1))
	}
	if st == nil {
		return
	}
	st.x.Failed = st.x.Failed || code != noError && code != cancel
	if st.x.Code == "" {
		st.x.Code = errorName(code)
	}
	why := proto.Reset
	if dir == flow.ToServer {
		why = proto.Idle // the client gave it up
	}
	a.close(s, id, st, code == noError && st.ended[flow.ToClient], why)
}

func (a *analyzer) goAway(s *proto.Scope, dir flow.Dir, b []byte) {
	const longest = 256
	code := binary.BigEndian.Uint32(b[4:])
	s.Attr("http2.goaway", errorName(code))
	if code == noError {
		return
	}
	debug := b[8:]
	s.Report(GoAway, finding.Num(code), finding.Text(errorName(code)), web.Bit(dir == flow.ToClient),
		finding.Text(string(debug[:min(len(debug), longest)])), finding.Num(len(a.streams)))
}

// Gap implements proto.Analyzer.
func (a *analyzer) Gap(s *proto.Scope, dir flow.Dir, n int) error {
	h := &a.half[dir]
	if h.skip >= n {
		a.skipped(s, dir, n)
		return nil
	}
	h.skip, h.inData, h.ending = 0, 0, 0
	h.lost, h.blind, h.inBlock, h.block = true, true, false, nil
	h.prefaced = true
	return nil
}

// End implements proto.Analyzer.
func (a *analyzer) End(s *proto.Scope, why proto.End) {
	now := max(a.last, s.Now())
	over := why == proto.Closed || why == proto.Reset
	ids := make([]uint32, 0, len(a.streams))
	for id := range a.streams {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		st := a.streams[id]
		waited := max(now-st.x.ReqEnd, 0)
		if st.q.Seen && st.lost(&a.half[flow.ToClient]) && (over || waited >= unanswered) {
			web.Unanswered(s, &st.q, st.x.ReqEnd, st.x.ReqLast, waited, why == proto.Reset)
			st.x.Failed = true
		}
		a.close(s, id, st, false, why)
	}
}
