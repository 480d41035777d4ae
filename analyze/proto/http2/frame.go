package http2

import (
	"encoding/binary"
	"strconv"
)

// Types of frames (RFC 9113, 6).
const (
	typeData         = 0
	typeHeaders      = 1
	typePriority     = 2
	typeRST          = 3
	typeSettings     = 4
	typePushPromise  = 5
	typePing         = 6
	typeGoAway       = 7
	typeWindowUpdate = 8
	typeContinuation = 9
	lastType         = 0x10 // PRIORITY_UPDATE (RFC 9218)
)

// Flags of frames.
const (
	flagAck        = 1
	flagEndStream  = 1
	flagEndHeaders = 4
	flagPadded     = 8
	flagPriority   = 32
)

// Settings that matter here (RFC 9113, 6.5.2).
const (
	settingTableSize     = 1
	settingInitialWindow = 4
)

// Sizes.
const (
	frameHeader   = 9
	maxFrame      = 1<<24 - 1
	initialWindow = 65535
)

type header struct {
	length int
	typ    uint8
	flags  uint8
	stream uint32
}

// readHeader reads the header of a frame; b has at least frameHeader bytes.
func readHeader(b []byte) header {
	return header{
		length: int(b[0])<<16 | int(b[1])<<8 | int(b[2]), typ: b[3], flags: b[4],
		stream: binary.BigEndian.Uint32(b[5:]) & 0x7fffffff,
	}
}

// plausible tells a frame from other bytes after a hole. Frames above 16 KiB
// need a setting that hardly anybody sends.
func (h *header) plausible() bool {
	const usual = 1 << 14
	if h.typ > lastType || h.length > usual {
		return false
	}
	switch h.typ {
	case typeData, typeHeaders, typePriority, typeRST, typeContinuation, typePushPromise:
		if h.stream == 0 {
			return false
		}
	case typeSettings, typePing, typeGoAway:
		if h.stream != 0 {
			return false
		}
	}
	switch h.typ {
	case typePriority:
		return h.length == 5
	case typeRST, typeWindowUpdate:
		return h.length == 4 && h.flags == 0
	case typePing:
		return h.length == 8 && h.flags&^flagAck == 0
	case typeSettings:
		return h.length%6 == 0 && h.flags&^flagAck == 0
	case typeGoAway:
		return h.length >= 8
	case typeData, typeHeaders:
		return h.flags&^(flagEndStream|flagEndHeaders|flagPadded|flagPriority) == 0
	}
	return true
}

// unpad takes padding and, for HEADERS, priority off a payload (RFC 9113, 6.1
// and 6.2); ok is false when they do not fit.
func unpad(h header, b []byte) (rest []byte, ok bool) {
	pad := 0
	if h.flags&flagPadded != 0 {
		if len(b) < 1 {
			return nil, false
		}
		pad, b = int(b[0]), b[1:]
	}
	if h.typ == typeHeaders && h.flags&flagPriority != 0 {
		if len(b) < 5 {
			return nil, false
		}
		b = b[5:]
	}
	if pad > len(b) {
		return nil, false
	}
	return b[:len(b)-pad], true
}

// errorName writes an error code (RFC 9113, 7).
func errorName(code uint32) string {
	names := [...]string{
		"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
		"FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
		"INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
	}
	if code < uint32(len(names)) {
		return names[code]
	}
	return strconv.FormatUint(uint64(code), 10)
}

// grpcName writes a status of gRPC (grpc/grpc, doc/statuscodes.md).
func grpcName(status int) string {
	names := [...]string{
		"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
		"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
		"INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
	}
	if status >= 0 && status < len(names) {
		return names[status]
	}
	return strconv.Itoa(status)
}
