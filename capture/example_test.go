package capture_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"netwhy/capture"
	"netwhy/capture/packet"
)

// Example writes a capture of one frame and reads it back.
func Example() {
	if err := example(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// frame 1 at 1700000000000000000 ns: "hello" on eth0 (EN10MB)
	// pcapng, 1 packets, fault <nil>
}

func example(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "capture")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	name := filepath.Join(dir, "one.pcapng")
	if err := writeOne(name); err != nil {
		return err
	}

	src, err := capture.Open(ctx, []string{name}, capture.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	for {
		b, err := src.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		for i := range b.Frames {
			f := &b.Frames[i]
			iface := src.Info().Interfaces[f.Interface]
			fmt.Printf("frame %d at %d ns: %q on %s (%s)\n", f.Number, f.Time, b.Data(f), iface.Name, iface.Link.Name())
		}
		b.Release() // b and its bytes are not to be touched any more
	}
	info := src.Info()
	fmt.Printf("%s, %d packets, fault %v\n", info.Files[0].Format, info.Counters.Packets, info.Truncated())
	return nil
}

func writeOne(name string) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	rec, err := capture.NewRecorder(file, capture.RecordOptions{Application: "example"})
	if err != nil {
		return errors.Join(err, file.Close())
	}
	index, err := rec.AddInterface(capture.Interface{Name: "eth0", Link: packet.LinkEthernet})
	if err != nil {
		return errors.Join(err, file.Close())
	}
	f := packet.Frame{Number: 1, Time: 1_700_000_000e9, WireLen: 5, Interface: index}
	return errors.Join(rec.Write(&f, []byte("hello"), "the only one"), rec.Finish(nil), file.Close())
}
