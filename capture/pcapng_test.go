package capture

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// ng builds pcapng files block by block.
type ng struct {
	order binary.AppendByteOrder
	b     []byte
}

func (n *ng) block(kind uint32, parts ...any) {
	var body []byte
	for _, p := range parts {
		switch v := p.(type) {
		case int: // 32 bits
			body = n.order.AppendUint32(body, uint32(v))
		case uint16:
			body = n.order.AppendUint16(body, v)
		case uint64:
			body = n.order.AppendUint64(body, v)
		case string:
			body = append(body, v...)
			for len(body)%4 != 0 {
				body = append(body, 0)
			}
		}
	}
	length := uint32(len(body) + blockMin)
	n.b = n.order.AppendUint32(n.b, kind)
	n.b = n.order.AppendUint32(n.b, length)
	n.b = append(n.b, body...)
	n.b = n.order.AppendUint32(n.b, length)
}

func (n *ng) section(order binary.AppendByteOrder) {
	n.order = order
	n.block(blockSection, byteOrderMagic, uint16(1), uint16(0), uint64(math.MaxUint64))
}

func (n *ng) iface(link uint16, snapLen int, options ...any) {
	n.block(blockInterface, append([]any{link, uint16(0), snapLen}, options...)...)
}

func (n *ng) enhanced(iface int, ticks uint64, data string, options ...any) {
	n.block(blockEnhanced, append([]any{iface, int(ticks >> 32), int(uint32(ticks)), len(data), len(data), data}, options...)...)
}

func TestEverythingThatAPcapngMayHold(t *testing.T) {
	t.Parallel()
	var n ng
	n.section(binary.LittleEndian)
	n.iface(1, 4, uint16(2), uint16(4), "eth0", uint16(9), uint16(1), "\x09\x00\x00\x00", 0) // ns
	n.iface(101, 0, uint16(9), uint16(1), "\x8a\x00\x00\x00", uint16(14), uint16(8), uint64(100), 0)
	n.enhanced(0, 1_000_000_007, "abc", uint16(4), uint16(8), uint64(5), 0)
	n.enhanced(1, 1536, "de")                                               // 1.5 s at 2^-10, and 100 s
	n.block(0x0bad, 1, 2)                                                   // custom
	n.block(0x12345678, "unknown")                                          //
	n.block(4, uint16(1), uint16(6), "\x01\x02\x03\x04a\x00")               // name resolution
	n.block(blockSecrets, 0x544c534b, 7, "CLIENT_")                         //
	n.block(blockSecrets, 0x57474b4c, 4, "wire")                            // not a TLS key log
	n.block(blockSimple, 6, "ghij")                                         // cut at snaplen 4
	n.block(blockPacket, uint16(0), uint16(2), 0, 2_000_000_000, 1, 9, "k") // obsolete, 2 drops
	n.block(blockStats, 0, 0, 0, uint16(5), uint16(8), uint64(11), uint16(7), uint16(8), uint64(6), 0)
	n.section(binary.BigEndian)
	n.iface(113, 0)
	n.enhanced(0, 3_000_000, "lm")
	n.block(blockStats, 5, 0, 0) // of an interface that is not there

	f := open(t, Options{}, write(t, "x", n.b))
	var secrets []string
	b, err := f.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range b.Secrets {
		secrets = append(secrets, string(s))
	}
	want := []sample{
		{Number: 1, Time: 1_000_000_007, Wire: 3, Link: 1, Data: "abc"},
		{Number: 2, Time: 101_500_000_000, Wire: 2, Link: 101, Iface: 1, Data: "de"},
		{Number: 3, Time: 101_500_000_000, Wire: 6, Link: 1, Data: "ghij"},
		{Number: 4, Time: 2_000_000_000, Wire: 9, Link: 1, Data: "k"},
		{Number: 5, Time: 3_000_000_000, Wire: 2, Link: 113, Iface: 2, Data: "lm"},
	}
	for i := range b.Frames {
		p := &b.Frames[i]
		got := sample{Number: p.Number, Time: p.Time, Wire: p.WireLen, Link: p.Link, Iface: p.Interface, Data: string(b.Data(p))}
		if i >= len(want) || got != want[i] {
			t.Errorf("frame %d: got %+v", i+1, got)
		}
	}
	if len(b.Frames) != len(want) || len(secrets) != 1 || secrets[0] != "CLIENT_" {
		t.Errorf("%d frames, secrets %q", len(b.Frames), secrets)
	}
	b.Release()
	i := f.Info()
	if i.Counters.DroppedKernel != 7 || i.Counters.DroppedInterface != 11 || i.Interfaces[0].Name != "eth0" || len(i.Interfaces) != 3 {
		t.Errorf("%+v", i)
	}
	if i.First != 1_000_000_007 || i.Last != 3e9 || i.Latest != 101_500_000_000 || i.Truncated() != nil {
		t.Errorf("%+v", i)
	}
}

func TestSecretsAtTheEndAreNotLost(t *testing.T) {
	t.Parallel()
	var n ng
	n.section(binary.LittleEndian)
	n.iface(1, 0)
	n.enhanced(0, 0, strings.Repeat("x", 1000))
	n.block(blockSecrets, 0x544c534b, 3, "END")
	name := write(t, "x", n.b)
	for _, names := range [][]string{{name}, {name, name}} {
		f := open(t, Options{BatchBytes: 1100}, names...)
		got := 0
		for {
			b, err := f.Next(t.Context())
			if err != nil {
				break
			}
			got += len(b.Secrets)
			b.Release()
		}
		if got != len(names) {
			t.Errorf("%d of %d", got, len(names))
		}
	}
}

// TestTimesOfAnyResolution compares with arithmetic without bounds.
func TestTimesOfAnyResolution(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		power, ticks := uint8(r.Uint32()), r.Uint64()>>(r.Uint32()%64)
		offset := int64(0)
		if r.Uint32()%2 == 0 {
			offset = int64(r.Uint64()) >> (r.Uint32() % 64)
		}
		u := timeUnit{power: power, offset: offset}
		u.prepare()
		got := u.nanos(ticks)

		base := big.NewInt(10)
		if power&0x80 != 0 {
			base = big.NewInt(2)
		}
		perSecond := new(big.Int).Exp(base, big.NewInt(int64(power&0x7f)), nil)
		ns := new(big.Int).Mul(new(big.Int).SetUint64(ticks), big.NewInt(1e9))
		ns.Div(ns, perSecond)
		ns.Add(ns, new(big.Int).Mul(big.NewInt(offset), big.NewInt(1e9)))
		limit := big.NewInt(math.MaxInt64 - 2e9)
		switch {
		case ns.CmpAbs(limit) < 0 && ns.Int64() != got:
			t.Fatalf("%d ticks of resolution %#x, offset %d: got %d, want %v", ticks, power, offset, got, ns)
		case ns.CmpAbs(limit) >= 0 && (ns.Sign() > 0) != (got > 0):
			t.Fatalf("%d ticks of resolution %#x, offset %d: got %d, far from %v", ticks, power, offset, got, ns)
		}
	}
}

func TestPacketsOfTheMixedResolutionFileAreASecondApart(t *testing.T) {
	t.Parallel()
	got := samples(t, open(t, Options{}, filepath.Join(shared(t, "corpus-robust"), "syn-ng-tsresol-mix.pcapng")))
	for i := range got {
		if i > 0 && got[i].Time-got[i-1].Time != 1e9 {
			t.Errorf("frame %d is %d ns after the one before", i+1, got[i].Time-got[i-1].Time)
		}
	}
}

func TestVariantsOfPcap(t *testing.T) {
	t.Parallel()
	const now = 1_700_000_000_000_000_000 // the time is what shows, read as a length, that a layout is wrong
	frames := []sample{{Number: 1, Time: now, Data: "first frame"}, {Number: 2, Time: now + 5000, Data: "second"}, {Number: 3, Time: now + 1e9, Data: "third"}}
	for i := range frames {
		frames[i].Wire, frames[i].Link = uint32(len(frames[i].Data)), 1
	}
	tests := []struct {
		name  string
		build variant
	}{
		{"usual", variant{magic: magicMicro}},
		{"big-endian", variant{magic: magicMicro, order: binary.BigEndian}},
		{"nanoseconds", variant{magic: magicNano, order: binary.BigEndian}},
		{"IXIA", variant{magic: magicIXIAHW}},
		{"modified", variant{magic: magicModified, extra: 8}},
		{"modified, short headers", variant{magic: magicModified}},
		{"ss990915", variant{magic: magicModified, extra: 12}},
		{"Red Hat 6.1: the usual magic", variant{magic: magicMicro, extra: 8}},
		{"Nokia: the usual magic", variant{magic: magicMicro, extra: 4}},
		{"2.2: lengths swapped", variant{magic: magicMicro, minor: 2, swap: true}},
		{"2.3 with lengths swapped", variant{magic: magicMicro, minor: 3, swap: true}},
		{"2.3 with the usual lengths", variant{magic: magicMicro, minor: 3}},
		{"FCS bits in the link type word", variant{magic: magicMicro, word: 0x14000000}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := samples(t, open(t, Options{}, write(t, "x", test.build.file(frames))))
			if len(got) != len(frames) {
				t.Fatalf("%d frames: %+v", len(got), got)
			}
			for i := range got {
				if got[i] != frames[i] {
					t.Errorf("got %+v, want %+v", got[i], frames[i])
				}
			}
		})
	}
}

// TestOddRecordsDoNotChangeTheLayout: a captured length above that on the wire
// and a fraction of more than a second are the file's, not another layout's.
func TestOddRecordsDoNotChangeTheLayout(t *testing.T) {
	t.Parallel()
	content := pcapFile(1, sample{Time: 1e9, Data: "first frame"}, sample{Time: 2e9, Data: "second frame"})
	second := pcapHeaderLen + recordLen + len("first frame")
	binary.LittleEndian.PutUint32(content[second+4:], 5_000_000)
	binary.LittleEndian.PutUint32(content[second+12:], 3)
	f := open(t, Options{}, write(t, "x", content))
	got := samples(t, f)
	if len(got) != 2 || got[1].Data != "second frame" || got[1].Time != 7e9 || got[1].Wire != 12 {
		t.Errorf("got %+v", got)
	}
	if !f.Info().Files[0].LensOdd {
		t.Error("the odd lengths are not told")
	}
}

// variant writes pcap files of many kinds.
type variant struct {
	magic uint32
	order binary.AppendByteOrder
	minor uint16
	extra int
	swap  bool
	word  uint32
}

func (v variant) file(frames []sample) []byte {
	o := v.order
	if o == nil {
		o = binary.LittleEndian
	}
	b := o.AppendUint32(nil, v.magic)
	b = o.AppendUint16(b, 2)
	if v.minor == 0 {
		v.minor = 4
	}
	b = o.AppendUint16(b, v.minor)
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0)
	b = o.AppendUint32(b, 65535)
	b = o.AppendUint32(b, 1|v.word)
	for _, f := range frames {
		frac := uint32(f.Time % 1e9)
		if v.magic != magicNano && v.magic != magicIXIAHW {
			frac /= 1000
		}
		b = o.AppendUint32(b, uint32(f.Time/1e9))
		b = o.AppendUint32(b, frac)
		lens := []uint32{uint32(len(f.Data)), f.Wire}
		if v.swap {
			lens[0], lens[1] = lens[1], lens[0]
		}
		b = o.AppendUint32(o.AppendUint32(b, lens[0]), lens[1])
		b = append(b, make([]byte, v.extra)...)
		b = append(b, f.Data...)
	}
	return b
}

func TestABlockOf4GiBAllocatesNothing(t *testing.T) {
	var n ng
	n.section(binary.LittleEndian)
	n.iface(1, 0)
	n.enhanced(0, 0, "x")
	for _, kind := range []uint32{blockEnhanced, blockSecrets, 0x0bad} {
		file := binary.LittleEndian.AppendUint32(nil, kind)
		file = binary.LittleEndian.AppendUint32(file, 0xfffffffc)
		name := write(t, "x", append(append([]byte(nil), n.b...), append(file, make([]byte, 40)...)...))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		o, _ := readAll(t, Options{}, name)
		runtime.ReadMemStats(&after)
		if o.packets != 1 || o.fault == nil {
			t.Errorf("block %#x: %+v", kind, o)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 2<<20 {
			t.Errorf("block %#x: %d bytes allocated", kind, n)
		}
	}
}
