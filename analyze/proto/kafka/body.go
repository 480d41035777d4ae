package kafka

import "encoding/binary"

// Keys of requests (kafka.apache.org, "Protocol", API keys) whose answers are read.
const (
	produce, fetch, listOffsets, metadata   = 0, 1, 2, 3
	offsetCommit, offsetFetch, coordinator  = 8, 9, 10
	joinGroup, heartbeat, leaveGroup, sync  = 11, 12, 13, 14
	saslHandshake, apiVersions, saslAuth    = 17, 18, 36
	createTopics, deleteTopics, newProducer = 19, 20, 22
)

// layout is where versions of an answer change.
type layout struct {
	latest   uint16 // version that is known; what a later one looks like is not
	flexible uint16 // first version with compact lengths and tagged fields (KIP-482)
	throttle uint16 // first version that begins with the time of throttling
}

const never = 1 << 15

func layoutOf(key uint16) (l layout, known bool) {
	switch key {
	case produce:
		return layout{12, 9, never}, true // it ends with the throttling
	case fetch:
		return layout{17, 12, 1}, true
	case listOffsets:
		return layout{10, 6, 2}, true
	case metadata:
		return layout{13, 9, 3}, true
	case offsetCommit:
		return layout{9, 8, 3}, true
	case offsetFetch:
		return layout{9, 6, 3}, true
	case coordinator:
		return layout{6, 3, 1}, true
	case joinGroup:
		return layout{9, 6, 2}, true
	case heartbeat:
		return layout{4, 4, 1}, true
	case leaveGroup, sync:
		return layout{5, 4, 1}, true
	case saslHandshake:
		return layout{1, never, never}, true
	case apiVersions: // its head never is flexible, so that everybody can read it
		return layout{never, never, never}, true
	case createTopics:
		return layout{7, 5, 2}, true
	case deleteTopics:
		return layout{6, 4, 1}, true
	case newProducer:
		return layout{5, 2, 0}, true
	case saslAuth:
		return layout{2, 2, never}, true
	}
	return layout{}, false
}

// answerTo is what was asked: key and version.
type answerTo struct{ key, version uint16 }

// failure reads the first error code of an answer, behind length and id; 0: there is
// none, or it cannot be read.
func (q answerTo) failure(b []byte) (code int16, topic []byte) {
	l, known := layoutOf(q.key)
	if !known || q.version > l.latest {
		return 0, nil
	}
	r := &reader{b: b, flexible: q.version >= l.flexible}
	r.tags()
	if q.version >= l.throttle {
		r.skip(4)
	}
	switch q.key {
	case produce, listOffsets, offsetCommit:
		return r.perPartition(func() { q.restOfPartition(r) })
	case fetch:
		if q.version >= 7 {
			if code = r.int16(); code != 0 {
				return code, nil
			}
			r.skip(4) // session
		}
		r.ids = q.version >= 13
		return r.perPartition(func() { q.restOfPartition(r) })
	case metadata:
		return q.ofMetadata(r)
	case offsetFetch:
		return q.ofOffsets(r)
	case coordinator:
		if q.version >= 4 {
			for range r.array() {
				r.text()
				r.skip(4)
				r.text()
				r.skip(4)
				if code = r.int16(); code != 0 {
					return code, nil
				}
				r.text()
				r.tags()
			}
			return 0, nil
		}
	case createTopics, deleteTopics:
		if r.array() == 0 {
			return 0, nil
		}
		topic = r.text() // of the first; mostly there is one
		if q.key == createTopics && q.version >= 7 || q.key == deleteTopics && q.version >= 6 {
			r.skip(idLen)
		}
		return r.int16(), topic
	}
	return r.int16(), nil
}

// restOfPartition passes over what follows the error code of a partition.
func (q answerTo) restOfPartition(r *reader) {
	v := q.version
	switch q.key {
	case produce:
		r.skip(8)
		r.skipFrom(v, 2, 8)
		r.skipFrom(v, 5, 8)
		if v >= 8 {
			for range r.array() {
				r.skip(4)
				r.text()
				r.tags()
			}
			r.text()
		}
	case fetch:
		r.skip(8)
		r.skipFrom(v, 4, 8)
		r.skipFrom(v, 5, 8)
		if v >= 4 {
			for range r.array() {
				r.skip(16)
				r.tags()
			}
		}
		r.skipFrom(v, 11, 4)
		r.bytes()
	case listOffsets:
		if v == 0 {
			for range r.array() {
				r.skip(8)
			}
			break
		}
		r.skip(16)
		r.skipFrom(v, 4, 4)
	}
	r.tags()
}

// ofMetadata reads the brokers, and then topics with an error of their own.
func (q answerTo) ofMetadata(r *reader) (code int16, topic []byte) {
	v := q.version
	for range r.array() {
		r.skip(4)
		r.text()
		r.skip(4)
		if v >= 1 {
			r.text()
		}
		r.tags()
	}
	if v >= 2 {
		r.text()
	}
	r.skipFrom(v, 1, 4)
	for range r.array() {
		code = r.int16()
		topic = r.text()
		if code != 0 {
			return code, topic
		}
		r.skipFrom(v, 10, idLen)
		r.skipFrom(v, 1, 1)
		for range r.array() {
			code = r.int16()
			if code != 0 {
				return code, topic
			}
			r.skip(8)
			r.skipFrom(v, 7, 4)
			lists := 2
			if v >= 5 {
				lists = 3
			}
			for range lists {
				for range r.array() {
					r.skip(4)
				}
			}
			r.tags()
		}
		r.skipFrom(v, 8, 4)
		r.tags()
	}
	return 0, nil
}

// ofOffsets reads the offsets of one group, or of several from version 8 on.
func (q answerTo) ofOffsets(r *reader) (code int16, topic []byte) {
	groups := 1
	if q.version >= 8 {
		groups = r.array()
	}
	for range groups {
		if r.short {
			break
		}
		if q.version >= 8 {
			r.text()
		}
		for range r.array() {
			topic = r.text()
			for range r.array() {
				r.skip(12)
				r.skipFrom(q.version, 5, 4)
				r.text()
				if code = r.int16(); code != 0 {
					return code, topic
				}
				r.tags()
			}
			r.tags()
		}
		if q.version >= 2 {
			if code = r.int16(); code != 0 {
				return code, nil
			}
		}
		if q.version >= 8 {
			r.tags()
		}
	}
	return 0, nil
}

const idLen = 16 // of a topic

// reader takes fields off an answer. When they run out it yields zeros, and arrays
// end.
type reader struct {
	b        []byte
	flexible bool // compact lengths, tagged fields
	ids      bool // topics are numbers instead of names
	short    bool // more was wanted than there is
}

// perPartition reads topics and their partitions up to the first error; rest passes
// over what follows the code.
func (r *reader) perPartition(rest func()) (code int16, topic []byte) {
	for range r.array() {
		if r.short {
			break
		}
		if topic = nil; r.ids {
			r.skip(idLen)
		} else {
			topic = r.text()
		}
		for range r.array() {
			r.skip(4)
			if code = r.int16(); code != 0 {
				return code, topic
			}
			if rest(); r.short {
				break
			}
		}
		r.tags()
	}
	return 0, nil
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.b, r.short = nil, true
		return nil
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) skip(n int) { r.take(n) }

// skipFrom passes over n bytes that are there from a version on.
func (r *reader) skipFrom(version, first uint16, n int) {
	if version >= first {
		r.take(n)
	}
}

func (r *reader) int16() int16 {
	if b := r.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b)) //nolint:gosec // codes are signed
	}
	return 0
}

func (r *reader) int32() int {
	if b := r.take(4); b != nil {
		return int(int32(binary.BigEndian.Uint32(b))) //nolint:gosec // lengths are signed, -1 is none
	}
	return 0
}

// varint reads an unsigned number of seven bits a byte.
func (r *reader) varint() int {
	n, size := binary.Uvarint(r.b)
	if size <= 0 || n > longest {
		r.take(-1)
		return 0
	}
	r.b = r.b[size:]
	return int(n)
}

// array is the number of elements, none if there are fewer bytes than that.
func (r *reader) array() int {
	var n int
	if r.flexible {
		n = r.varint() - 1
	} else {
		n = r.int32()
	}
	if n > len(r.b) {
		r.take(-1)
	}
	if r.short {
		return 0
	}
	return max(n, 0)
}

func (r *reader) text() []byte {
	if r.flexible {
		return r.take(max(r.varint()-1, 0))
	}
	return r.take(max(int(r.int16()), 0))
}

func (r *reader) bytes() {
	if r.flexible {
		r.skip(max(r.varint()-1, 0))
		return
	}
	r.skip(max(r.int32(), 0))
}

// tags passes over tagged fields.
func (r *reader) tags() {
	if !r.flexible {
		return
	}
	n := r.varint()
	for range min(n, len(r.b)) {
		r.varint()
		r.skip(r.varint())
	}
}
