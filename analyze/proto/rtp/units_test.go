package rtp_test

import (
	"testing"
	"time"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/prototest"
	"netwhy/analyze/proto/rtp"
)

// tsPacket makes a packet of a transport stream, filled up by stuffing behind the payload.
func tsPacket(pid uint16, starts bool, counter byte, payload string) []byte {
	b := make([]byte, 188)
	for i := range b {
		b[i] = 0xff
	}
	b[0], b[1], b[2], b[3] = 0x47, byte(pid>>8), byte(pid), 0x10|counter
	if starts {
		b[1] |= 0x40
	}
	copy(b[4:], payload)
	return b
}

// TestUnits checks in which datagram what a transport stream carries is named.
func TestUnits(t *testing.T) {
	t.Parallel()
	null := tsPacket(0x1fff, false, 0, "")
	steps := []struct {
		packet []byte
		name   string
	}{
		{tsPacket(0, true, 0, "\x00\x00\xb0\x0d\x00\x02\xc3\x00\x00"), "mpeg_pat"},
		{tsPacket(256, true, 0, "\x00\x02\xb0\x33\x00"), "mpeg_pmt"},
		{tsPacket(0x11, true, 0, "\x00\x42\xf1\x00\x00"), ""},
		{tsPacket(0x11, false, 1, ""), "dvb_sdt"},
		{tsPacket(576, true, 0, "\x00\x00\x01\xbd\x00\xb2\x84"), "mpeg-pes"},
		{tsPacket(512, true, 0, "\x00\x00\x01\xe0\x00\x00\x84"), ""},
		{tsPacket(512, false, 1, ""), ""},
		{tsPacket(512, true, 2, "\x00\x00\x01\xe0\x00\x00\x84"), "mpeg-pes"},
		{tsPacket(640, true, 0, "\x00\x00\x01\xc0\x01\x00\x84"), ""},
		{tsPacket(640, false, 1, ""), "mpeg-pes"},
	}
	c := prototest.New(rtp.TS(), proto.UDP, 5004)
	names := []string{"mpeg_pat", "mpeg_pmt", "dvb_sdt", "mpeg-pes"}
	for i, step := range steps {
		before := map[string]int{}
		for _, name := range names {
			before[name] = c.Rec.Carried[name]
		}
		c.Send(flow.ToServer, time.Duration(i)*time.Millisecond, append(step.packet, null...))
		for _, name := range names {
			if got := c.Rec.Carried[name] > before[name]; got != (name == step.name) {
				t.Errorf("datagram %d: %s counted %v, want %q", i, name, got, step.name)
			}
		}
	}
}

func FuzzTS(f *testing.F) {
	f.Add(append(tsPacket(0, true, 0, "\x00\x00\xb0\x0d"), tsPacket(512, true, 0, "\x00\x00\x01\xe0\x00\x00")...))
	f.Fuzz(func(t *testing.T, b []byte) {
		prototest.Hostile(t, prototest.New(rtp.TS(), proto.UDP, 5004), b)
	})
}
