package capture

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"netwhy/capture/packet"
)

// sample is a frame as tests write and compare it.
type sample struct {
	Number  uint64
	Time    int64
	Wire    uint32
	Link    packet.LinkType
	Iface   uint16
	Data    string
	comment string
}

// record writes a pcapng file of the frames.
func record(tb testing.TB, ifaces []Interface, frames []sample) []byte {
	tb.Helper()
	var file bytes.Buffer
	r, err := NewRecorder(&file, RecordOptions{Application: "netwhy test", Comment: "made by a test"})
	if err != nil {
		tb.Fatal(err)
	}
	for _, i := range ifaces {
		if _, err := r.AddInterface(i); err != nil {
			tb.Fatal(err)
		}
	}
	for i := range frames {
		s := &frames[i]
		f := packet.Frame{Number: s.Number, Time: s.Time, WireLen: s.Wire, Interface: s.Iface}
		if err := r.Write(&f, []byte(s.Data), s.comment); err != nil {
			tb.Fatal(err)
		}
	}
	if err := r.Finish(ifaces); err != nil {
		tb.Fatal(err)
	}
	if r.Size() != int64(file.Len()) {
		tb.Errorf("size %d, file has %d bytes", r.Size(), file.Len())
	}
	return file.Bytes()
}

// samples reads a source to its end.
func samples(tb testing.TB, f *File) []sample {
	tb.Helper()
	var all []sample
	for {
		b, err := f.Next(tb.Context())
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			tb.Fatal(err)
		}
		for i := range b.Frames {
			p := &b.Frames[i]
			all = append(all, sample{Number: p.Number, Time: p.Time, Wire: p.WireLen, Link: p.Link, Iface: p.Interface, Data: string(b.Data(p))})
		}
		b.Release()
	}
}

func open(tb testing.TB, opt Options, names ...string) *File {
	tb.Helper()
	f, err := Open(tb.Context(), names, opt)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := f.Close(); err != nil {
			tb.Error(err)
		}
	})
	return f
}

func write(tb testing.TB, name string, content []byte) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

var (
	recordedIfaces = []Interface{
		{Name: "eth0", Desc: "to the office", Link: packet.LinkEthernet, SnapLen: 262144, DroppedKernel: 7, DroppedInterface: 3},
		{Name: "wg0 世界", Link: packet.LinkRaw},
	}
	recordedFrames = []sample{
		{Number: 1, Time: 1_700_000_000_123_456_789, Wire: 60, Link: packet.LinkEthernet, Data: strings.Repeat("a", 60)},
		{Number: 2, Time: 1_700_000_000_123_456_790, Wire: 1500, Link: packet.LinkRaw, Iface: 1, Data: "E\x00", comment: "F1: the window closes here"},
		{Number: 3, Time: 1_700_000_000_000_000_000, Wire: 5, Link: packet.LinkEthernet, Data: "12345", comment: "bad \xff text"},
		{Number: 4, Time: 0, Wire: 0, Link: packet.LinkEthernet},
	}
)

func TestRecordedFramesAreReadBackAsTheyWere(t *testing.T) {
	t.Parallel()
	f := open(t, Options{}, write(t, "evidence.pcapng", record(t, recordedIfaces, recordedFrames)))
	want := slices.Clone(recordedFrames)
	for i := range want {
		want[i].comment = ""
	}
	if diff := cmp.Diff(want, samples(t, f), cmp.AllowUnexported(sample{})); diff != "" {
		t.Error(diff)
	}
	i := f.Info()
	if diff := cmp.Diff(recordedIfaces, i.Interfaces); diff != "" {
		t.Error(diff)
	}
	if c := i.Counters; c.DroppedKernel != 7 || c.DroppedInterface != 3 || i.Truncated() != nil {
		t.Errorf("counters %+v, fault %v", c, i.Truncated())
	}
}

func TestTsharkReadsWhatIsRecorded(t *testing.T) {
	t.Parallel()
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	file := write(t, "evidence.pcapng", record(t, recordedIfaces, recordedFrames))
	out, err := exec.CommandContext(t.Context(), tshark, "-r", file, "-T", "fields", "-E", "separator=|",
		"-e", "frame.time_epoch", "-e", "frame.len", "-e", "frame.cap_len", "-e", "frame.interface_name", "-e", "frame.comment").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := "1700000000.123456789|60|60|eth0|\n" +
		"1700000000.123456790|1500|2|wg0 世界|F1: the window closes here\n" +
		"1700000000.000000000|5|5|eth0|bad \uFFFD text\n" +
		"0.000000000|0|0|eth0|\n"
	if diff := cmp.Diff(want, string(out)); diff != "" {
		t.Error(diff)
	}
}

func TestRecorderRefuses(t *testing.T) {
	t.Parallel()
	r, err := NewRecorder(io.Discard, RecordOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Write(&packet.Frame{Number: 9}, nil, ""); err == nil || !strings.Contains(err.Error(), "frame 9") {
		t.Errorf("a frame of an interface that was not added: %v", err)
	}
	full := errors.New("no space left")
	if r, err = NewRecorder(failing{full}, RecordOptions{Comment: strings.Repeat("x", recorderBuffer)}); !errors.Is(err, full) {
		t.Errorf("the writer's error is lost: %v", err)
	}
	if err := r.Finish(nil); !errors.Is(err, full) {
		t.Errorf("the first error is lost: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestRecorderAllocatesNothingPerFrame(t *testing.T) {
	r, err := NewRecorder(io.Discard, RecordOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.AddInterface(Interface{Link: packet.LinkEthernet}); err != nil {
		t.Fatal(err)
	}
	f, data := packet.Frame{Number: 1, WireLen: 1500}, make([]byte, 1500)
	if n := testing.AllocsPerRun(1000, func() { _ = r.Write(&f, data, "") }); n != 0 {
		t.Errorf("%v allocations a frame", n)
	}
}
