package rtp

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/prototest"
)

func packet(typ byte, seq uint16, stamp, ssrc uint32, n int) []byte {
	b := []byte{0x80, typ}
	b = binary.BigEndian.AppendUint16(b, seq)
	b = binary.BigEndian.AppendUint32(b, stamp)
	b = binary.BigEndian.AppendUint32(b, ssrc)
	return append(b, make([]byte, n)...)
}

// A negotiated payload type is recognised by three packets in a row, and its clock
// by how fast the stamps run.
func TestDynamic(t *testing.T) {
	t.Parallel()
	const frame = 20 * time.Millisecond
	for _, c := range []struct {
		what   string
		packet func(i int) []byte
		codes  []string
		lost   float64
	}{
		{"Opus", func(i int) []byte { return packet(111, uint16(i), uint32(i*960), 7, 80) }, []string{string(Quality)}, 0},
		{"Opus with holes", func(i int) []byte {
			if i%20 == 10 {
				return nil
			}
			return packet(111, uint16(i), uint32(i*960), 7, 80)
		}, []string{string(Loss), string(Quality)}, 5},
		{"another protocol with a counter", func(i int) []byte { return packet(111, uint16(i), uint32(i*960), uint32(i), 80) }, nil, 0},
		{"the same again", func(int) []byte { return packet(111, 1, 960, 7, 80) }, nil, 0},
		{"texts", func(int) []byte { return []byte("\x80\x70 some text of no protocol") }, nil, 0},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			conv := prototest.New(Dynamic(), proto.UDP, 40000)
			conv.Rec.Declare(Spec().Codes...)
			for i := range 100 {
				if b := c.packet(i); b != nil {
					conv.Send(flow.ToServer, time.Duration(i)*frame, b)
				}
			}
			conv.End(2*time.Second, proto.Over)
			if got := conv.Rec.Codes(); !slices.Equal(got, c.codes) {
				t.Fatalf("codes %q, want %q", got, c.codes)
			}
			if c.codes == nil {
				if conv.Facts.App != "" || conv.Rec.Carried[name] > 0 {
					t.Errorf("taken for media: %q", conv.Facts.App)
				}
				return
			}
			last := conv.Rec.Reports[len(conv.Rec.Reports)-1]
			if conv.Facts.App != name || last.Values[1].Num != c.lost || last.Values[3].Num > 1 {
				t.Errorf("%s: lost %g, jitter %g ms", conv.Facts.App, last.Values[1].Num, last.Values[3].Num)
			}
		})
	}
}

// Sound and picture may share one conversation.
func TestTwoSources(t *testing.T) {
	t.Parallel()
	conv := prototest.New(Dynamic(), proto.UDP, 40000)
	conv.Rec.Declare(Spec().Codes...)
	for i := range 100 {
		at := time.Duration(i) * 20 * time.Millisecond
		conv.Send(flow.ToServer, at, packet(111, uint16(i), uint32(i*960), 7, 80))
		if i > 2 {
			conv.Send(flow.ToServer, at, packet(96, uint16(i), uint32(i*1800), 8, 900))
		}
	}
	conv.End(2*time.Second, proto.Over)
	if got := conv.Rec.Codes(); !slices.Equal(got, []string{string(Quality), string(Quality)}) {
		t.Errorf("codes %q, want the quality of two streams", got)
	}
}
