package decode_test

import (
	"os"
	"path/filepath"
	"testing"

	"netwhy/analyze/decode"
	"netwhy/capture/packet"
)

// TestEveryPrefix decodes the first frames of every odd capture, cut at every
// length: nothing panics, and no offset is beyond the bytes.
func TestEveryPrefix(t *testing.T) {
	t.Parallel()
	const framesPerFile, longest = 12, 220
	dir := shared(t, "corpus-robust")
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	decoded := 0
	for _, f := range list {
		n := 0
		each(t, filepath.Join(dir, f.Name()), func(f *packet.Frame, data []byte) {
			if n++; n > framesPerFile {
				return
			}
			for cut := 0; cut <= min(len(data), longest); cut++ {
				for _, wire := range []int{cut, len(data)} {
					var p decode.Packet
					b := data[:cut:cut]
					decode.Decode(f.Link, b, uint32(wire), &p)
					if int(p.End) > cut || p.L4 > p.End || p.Payload > p.End || int(p.PayloadLen) > wire {
						t.Fatalf("%d of %d bytes, link type %d: %+v", cut, len(data), f.Link, p)
					}
					var o decode.TCPOptions
					decode.ParseOptions(p.Options(b), &o)
					p.TransportChecksum(b)
					p.IPChecksum(b)
					p.MACs(b)
					decode.ARPFields(b, &p)
					decoded++
				}
			}
		})
	}
	t.Logf("%d prefixes", decoded)
}

// TestReports are captures made from bug reports about other decoders.
func TestReports(t *testing.T) {
	t.Parallel()
	dir := shared(t, "corpus-robust")
	type result struct {
		kinds                      map[decode.Kind]int
		errs                       map[decode.Reason]int
		whole, conflicts, overlaps int
		payload                    int
	}
	read := func(t *testing.T, name string) (r result) {
		t.Helper()
		r.kinds, r.errs = map[decode.Kind]int{}, map[decode.Reason]int{}
		var def decode.Defragmenter
		frames := 0
		each(t, filepath.Join(dir, name), func(f *packet.Frame, data []byte) {
			frames++
			var p decode.Packet
			decode.Decode(f.Link, data, f.WireLen, &p)
			if p.Kind == decode.KindFragment {
				if w, ok := def.Add(f.Number, f.Time, data, &p); ok {
					r.whole++
					data = w.Data
					if w.Conflict {
						r.conflicts++
					}
					if w.Overlap {
						r.overlaps++
					}
				}
			}
			r.kinds[p.Kind]++
			r.errs[p.Err]++
			r.payload += len(p.Data(data))
		})
		if frames == 0 {
			t.Fatalf("%s has no frames", name)
		}
		return r
	}
	tests := []struct {
		report, file string
		ok           func(r result) bool
	}{
		{"SCTP chunk of length 0", "gopacket-issue146-sctp-stack-overflow.pcap", func(r result) bool { return r.kinds[decode.KindSCTP] > 0 }},
		{"GRE bits past the end", "gopacket-gre-bounds.pcap", func(r result) bool {
			return r.errs[decode.Truncated]+r.errs[decode.Short] > 0 && r.kinds[decode.KindIPOther] > 0
		}},
		{"frame ends at every length", "syn-snap-every-length.pcap", func(r result) bool {
			return r.errs[decode.Short] > 0 && r.kinds[decode.KindTCP] > 0
		}},
		{"fragments, last one first", "syn-frag-reversed.pcap", func(r result) bool { return r.whole > 0 && r.kinds[decode.KindUDP]+r.kinds[decode.KindTCP] > 0 }},
		{"fragments of 8 bytes", "syn-frag-tiny.pcap", func(r result) bool { return r.whole > 0 && r.kinds[decode.KindUDP]+r.kinds[decode.KindTCP] > 0 }},
		{"fragments that disagree", "syn-frag-overlap-conflict.pcap", func(r result) bool { return r.conflicts > 0 }},
		{"last fragment missing", "syn-frag-missing-last.pcap", func(r result) bool { return r.whole == 0 && r.kinds[decode.KindFragment] > 0 }},
		{"IPv6 fragments", "syn-frag6.pcap", func(r result) bool { return r.whole > 0 }},
		{"VXLAN 500 deep", "syn-nest-vxlan-500.pcap", func(r result) bool { return r.errs[decode.TooDeep] > 0 && r.kinds[decode.KindUDP] > 0 }},
	}
	for _, tt := range tests {
		t.Run(tt.report, func(t *testing.T) {
			t.Parallel()
			if r := read(t, tt.file); !tt.ok(r) {
				t.Errorf("%s: got %+v", tt.file, r)
			}
		})
	}
}
