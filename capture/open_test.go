package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"netwhy/capture/packet"
)

// pcapFile makes a little-endian pcap file in microseconds.
func pcapFile(link uint32, frames ...sample) []byte {
	b := binary.LittleEndian.AppendUint32(nil, magicMicro)
	b = append(b, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, 262144)
	b = binary.LittleEndian.AppendUint32(b, link)
	for i := range frames {
		f := &frames[i]
		b = binary.LittleEndian.AppendUint32(b, uint32(f.Time/1e9))
		b = binary.LittleEndian.AppendUint32(b, uint32(f.Time%1e9/1000))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(f.Data)))
		b = binary.LittleEndian.AppendUint32(b, max(f.Wire, uint32(len(f.Data))))
		b = append(b, f.Data...)
	}
	return b
}

// pack compresses content.
func pack(tb testing.TB, packer string, content []byte) []byte {
	tb.Helper()
	var b bytes.Buffer
	z, _ := packers[packer](&b)
	if _, err := z.Write(content); err != nil {
		tb.Fatal(err)
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func TestWhatIsNoCaptureIsNamedInOneLine(t *testing.T) {
	t.Parallel()
	twice := pack(t, "gzip", pack(t, "gzip", pcapFile(1)))
	tests := []struct {
		name, content, want string
	}{
		{"empty", "", "empty (0 bytes)"},
		{"tcpdump text", "14:02:44.202345 IP 192.0.2.39.65 > 198.51.100.2.80: Flags [S]\n", "text output of tcpdump"},
		{"tshark text", "    1   0.000000 192.0.2.1 → 192.0.2.2 TCP 74\n", "text output of tshark"},
		{"text", "hello\n", "plain text"},
		{"snoop", "snoop\x00\x00\x00\x00\x00\x00\x02", "snoop"},
		{"netmon", "GMBU\x00\x02", "Network Monitor"},
		{"bzip2", "BZh91AY&SY", "bzip2"},
		{"zip", "PK\x03\x04xx", "ZIP"},
		{"magic only", "\xd4\xc3\xb2\xa1", "ends inside its header (4 of 24 bytes)"},
		{"pcap 3.0", "\xd4\xc3\xb2\xa1\x03\x00\x00\x00" + strings.Repeat("\x00", 16), "version 3.0"},
		{"link type", string(pcapFile(65001)), "link type 65001"},
		{"gzip of text", string(pack(t, "gzip", []byte("hello world\n"))), "gzip with something else in it: plain text"},
		{"gzip of nothing", string(pack(t, "gzip", nil)), "gzip of nothing"},
		{"gzip in gzip", string(twice), "gzip data"},
		{"gzip cut at once", "\x1f\x8b\x08", "the gzip data end early"},
		{"pcapng of neither order", "\n\r\r\n\x1c\x00\x00\x00abcdefgh" + strings.Repeat("\x00", 12), "byte-order magic"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			name := write(t, "x.pcap", []byte(test.content))
			f, err := Open(t.Context(), []string{name}, Options{})
			var wrong *OpenError
			if f != nil || !errors.As(err, &wrong) || wrong.Remedy == "" {
				t.Fatalf("got %v, %v", f, err)
			}
			if !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %q, want one line with %q", err, test.want)
			}
		})
	}
}

func TestFilesThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, want := range map[string]string{
		dir:                             "it is a directory",
		filepath.Join(dir, "no.pcap"):   "there is no such file",
		filepath.Join(dir, "\x00.pcap"): "invalid argument",
	} {
		_, err := Open(t.Context(), []string{name}, Options{})
		var wrong *OpenError
		if !errors.As(err, &wrong) || wrong.Name != name || wrong.Reason != want {
			t.Errorf("%q: got %v, want %q", name, err, want)
		}
	}
	if _, err := Open(t.Context(), nil, Options{}); err == nil {
		t.Error("no name: no error")
	}
	if os.Getuid() != 0 {
		name := write(t, "secret.pcap", pcapFile(1))
		if err := os.Chmod(name, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), []string{name}, Options{}); !errors.Is(err, os.ErrPermission) {
			t.Errorf("no permission: got %v", err)
		}
	}
}

func TestOneBadFileOfSeveralIsLeftOut(t *testing.T) {
	t.Parallel()
	good := write(t, "good.pcap", pcapFile(1, sample{Time: 5e9, Data: "x"}))
	bad := write(t, "bad.pcap", pcapFile(65001, sample{Data: "x"}))
	o, i := readAll(t, Options{}, good, bad, good)
	var wrong *OpenError
	if o.packets != 2 || o.err != nil || len(i.Files) != 3 || !errors.As(i.Files[1].Err, &wrong) || i.Files[0].Err != nil {
		t.Errorf("%+v %+v", o, i.Files)
	}
	if _, err := Open(t.Context(), []string{bad, bad}, Options{}); !errors.As(err, &wrong) {
		t.Errorf("only bad ones: %v", err)
	}
}

func TestStandardInputIsReadOnce(t *testing.T) {
	t.Parallel()
	o, i := readAll(t, Options{Stdin: bytes.NewReader(pcapFile(1, sample{Data: "x"}))}, "-", "-")
	if o.packets != 1 || i.Files[0].Err != nil || i.Files[1].Err == nil {
		t.Errorf("%+v, %+v", o, i.Files)
	}
}

// TestInfoDuringReading is for the race detector: a screen asks while frames are read.
func TestInfoDuringReading(t *testing.T) {
	t.Parallel()
	file := write(t, "x", pack(t, "gzip", benchFile(5000)))
	f := open(t, Options{BatchBytes: 4096, Batches: 3}, file, file)
	var wait sync.WaitGroup
	end := make(chan struct{})
	wait.Go(func() {
		for {
			select {
			case <-end:
				return
			default:
				if i, p := f.Info(), f.Progress(); i.Counters.Packets < p.Packets && len(i.Files) != 2 || p.Read > p.Size {
					t.Errorf("%+v, %+v", i.Counters, p)
				}
			}
		}
	})
	if n := len(samples(t, f)); n != 10000 {
		t.Errorf("%d frames", n)
	}
	close(end)
	wait.Wait()
	if p := f.Progress(); p.Read != p.Size || p.Packets != 10000 {
		t.Errorf("at the end: %+v", p)
	}
}

func TestAnEmptyCaptureIsNoFault(t *testing.T) {
	t.Parallel()
	for name, content := range map[string][]byte{
		"pcap": pcapFile(1), "pcapng": record(t, nil, nil), "pcapng with an interface": record(t, recordedIfaces, nil),
		"gzip": pack(t, "gzip", pcapFile(1)),
	} {
		o, i := readAll(t, Options{}, write(t, "x", content))
		if o.packets != 0 || o.err != nil || o.fault != nil || i.HasTimes {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

func TestACutFileNamesFrameAndOffset(t *testing.T) {
	t.Parallel()
	content := pcapFile(1, sample{Data: "first"}, sample{Data: "second"})
	second := int64(24 + 16 + 5)
	for n := second + 1; n < int64(len(content)); n++ {
		o, i := readAll(t, Options{}, write(t, "cut.pcap", content[:n]))
		if o.packets != 1 || o.fault == nil || o.fault.Frame != 2 || o.fault.Offset != second || i.Files[0].Fault != o.fault {
			t.Fatalf("cut at %d: %+v, %v", n, o, o.fault)
		}
	}
	if o, _ := readAll(t, Options{}, write(t, "cut.pcap", content[:second])); o.packets != 1 || o.fault != nil {
		t.Errorf("cut between frames: %+v", o)
	}
}

func TestDamageBeneathTheFormatIsNamed(t *testing.T) {
	t.Parallel()
	var content []byte
	for i := range 3000 {
		content = append(content, byte(i*i>>3), byte(i*7), byte(i>>2)^byte(i*i))
	}
	frames := []sample{{Data: string(content)}, {Data: string(content)}, {Data: string(content[1:])}}
	packed := pack(t, "gzip", pcapFile(1, frames...))
	sick := errors.New("input/output error")
	damaged := bytes.Clone(packed)
	damaged[len(damaged)-6] ^= 1 // in its checksum
	tests := []struct {
		name, want string
		stdin      io.Reader
	}{
		{"the disk", "it cannot be read further: input/output error", io.MultiReader(bytes.NewReader(pcapFile(1, frames...)), iotest.ErrReader(sick))},
		{"gzip is cut", "the gzip data end early", bytes.NewReader(packed[:len(packed)-3])},
		{"gzip is damaged", "the gzip data are damaged", bytes.NewReader(damaged)},
	}
	for _, test := range tests {
		o, _ := readAll(t, Options{Stdin: test.stdin}, "-")
		if o.packets != 3 || o.fault == nil || o.fault.Frame != 4 || !strings.Contains(o.fault.Reason, test.want) {
			t.Errorf("%s: %+v, %v", test.name, o, o.fault)
		}
	}
}

func TestPackedFilesInSeveralParts(t *testing.T) {
	t.Parallel()
	content := pcapFile(1, sample{Time: 1e9, Data: "first"}, sample{Time: 2e9, Data: "second"})
	for name := range packers {
		parts := append(pack(t, name, content[:30]), pack(t, name, content[30:])...)
		o, i := readAll(t, Options{}, write(t, "x", parts))
		if o.packets != 2 || o.err != nil || o.fault != nil {
			t.Errorf("%s: %+v", name, o)
		}
		if want := map[string]string{"plain": "pcap"}[name]; want == "" && i.Files[0].Format != "pcap in "+name {
			t.Errorf("format %q", i.Files[0].Format)
		}
	}
}

func TestRecordsLargerThanABatch(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("0123456789abcdef", maxCaptured/16)
	frames := []sample{{Data: "a"}, {Data: large}, {Data: "b"}, {Data: large[:100000]}, {Data: large}}
	for name, content := range map[string][]byte{
		"pcap":   pcapFile(uint32(packet.LinkEthernet), frames...),
		"pcapng": record(t, []Interface{{Link: packet.LinkEthernet}}, frames),
	} {
		for _, bytes := range []int{64, 4096, packet.DefaultBatchBytes} {
			got := samples(t, open(t, Options{BatchBytes: bytes}, write(t, "x", content)))
			if len(got) != len(frames) {
				t.Fatalf("%s: %d frames", name, len(got))
			}
			for i := range got {
				if got[i].Data != frames[i].Data || got[i].Number != uint64(i+1) {
					t.Errorf("%s, batches of %d: frame %d differs", name, bytes, i+1)
				}
			}
		}
	}
}

func TestMaxPackets(t *testing.T) {
	t.Parallel()
	name := write(t, "x", pcapFile(1, sample{Data: "1"}, sample{Data: "2"}, sample{Data: "3"}))
	for limit, want := range map[uint64]uint64{0: 3, 1: 1, 2: 2, 3: 3, 4: 3} {
		if o, _ := readAll(t, Options{MaxPackets: limit}, name); o.packets != want {
			t.Errorf("limit %d: %d packets", limit, o.packets)
		}
		if o, _ := readAll(t, Options{MaxPackets: limit}, name, name); limit > 0 && o.packets != limit {
			t.Errorf("limit %d of two files: %d packets", limit, o.packets)
		}
	}
}
