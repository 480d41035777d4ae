package http

import (
	"bytes"
	"strconv"

	"netwhy/analyze/proto"
)

// Quoted tells the statuses of the responses in the beginning of a segment that an ICMP
// error quotes: tshark waits for nothing there.
func Quoted(b []byte, tell func(status string)) {
	for bytes.HasPrefix(b, []byte(versionPrefix)) {
		var h head
		ok, is := h.parse(b, true)
		if is && !ok {
			h.begin(b, true)
		}
		if h.status == 0 {
			return
		}
		tell(strconv.Itoa(h.status))
		if !ok || h.length < 0 || h.length > int64(len(b)-h.size) {
			return
		}
		b = b[h.size+int(h.length):]
	}
}

// Cut counts a segment that was cut by the snaplen and begins no message, of a connection
// of which no request was seen.
func Cut(s *proto.Scope, b []byte) { other(s, b, false) }
