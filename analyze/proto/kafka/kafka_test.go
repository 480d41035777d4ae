package kafka

import "testing"

// FuzzFailure reads answers of every kind and version.
func FuzzFailure(f *testing.F) {
	f.Add(uint16(produce), uint16(3), []byte("\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x01\x00\x00\x00\x00\x00\x06"))
	f.Add(uint16(metadata), uint16(9), []byte("\x00\x00\x00\x00\x00\x02\x00\x00\x00\x01\x02b\x00\x00\x23\x84\x00\x00\x00\x00\x00\x00\x01\x02\x00\x03\x02x"))
	f.Add(uint16(fetch), uint16(13), []byte("\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x02"))
	f.Add(uint16(offsetFetch), uint16(8), []byte("\x00\x00\x00\x00\x00\x02\x02g\x02\x02t\x02"))
	f.Add(uint16(coordinator), uint16(4), []byte("\x00\x00\x00\x00\x00\x02\x02g\x00\x00\x00\x01\x02h\x00\x00\x23\x84\x00\x0f"))
	f.Fuzz(func(t *testing.T, key, version uint16, b []byte) {
		code, topic := answerTo{key, version}.failure(b)
		if len(topic) > len(b) || code != 0 && len(b) < 2 {
			t.Errorf("code %d of %d bytes", code, len(b))
		}
		if access, moved, unable := meaning(code); access+moved+unable > 1 || errorName(code) == "" {
			t.Errorf("code %d means several things, or has no name", code)
		}
	})
}

func TestFailure(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what string
		q    answerTo
		body string // behind length and id
		code int16
		name string
	}{
		{"second partition", answerTo{listOffsets, 1}, "\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x02" +
			"\x00\x00\x00\x00\x00\x00........________" + "\x00\x00\x00\x01\x00\x05", 5, "t"},
		{"session of a fetch", answerTo{fetch, 7}, "\x00\x00\x00\x00\x00\x47", 71, ""},
		{"partition of a fetch", answerTo{fetch, 11}, "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x01" +
			"\x00\x00\x00\x03\x00\x01", 1, "t"},
		{"one partition well, one not", answerTo{fetch, 4}, "\x00\x00\x00\x00\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x02" +
			"\x00\x00\x00\x03\x00\x00........________\xff\xff\xff\xff\x00\x00\x00\x02ab" + "\x00\x00\x00\x04\x00\x06", 6, "t"},
		{"group's coordinator", answerTo{coordinator, 4}, "\x00\x00\x00\x00\x00\x02\x02g\xff\xff\xff\xff\x01\xff\xff\xff\xff\x00\x0f", 15, ""},
		{"a later version", answerTo{produce, 99}, "\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x01\x00\x00\x00\x00\x00\x06", 0, ""},
		{"another kind", answerTo{60, 0}, "\x00\x06", 0, ""},
		{"cut", answerTo{metadata, 1}, "\x00\x00\x00\x02\x00", 0, ""},
	} {
		if code, topic := c.q.failure([]byte(c.body)); code != c.code || string(topic) != c.name {
			t.Errorf("%s: %d %q, want %d %q", c.what, code, topic, c.code, c.name)
		}
	}
}
