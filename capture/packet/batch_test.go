package packet

import (
	"context"
	"errors"
	"slices"
	"testing"
)

func TestBatchKeepsFramesAndTheirBytes(t *testing.T) {
	t.Parallel()
	p := NewPool(1, 16)
	b, err := p.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !b.Append(Frame{Number: 1, WireLen: 100}, []byte("0123456789")) || !b.Append(Frame{Number: 2}, []byte("abcdef")) {
		t.Fatal("no room for 16 bytes")
	}
	if b.Append(Frame{Number: 3}, []byte("x")) {
		t.Error("room for a 17th byte")
	}
	first := b.Data(&b.Frames[0])
	_ = append(first, "XXXX"...)
	if string(b.Data(&b.Frames[1])) != "abcdef" {
		t.Error("an append to one frame overwrote the next")
	}
	if f := b.Frames[0]; f.WireLen != 100 || f.CapLen != 10 || b.Frames[1].WireLen != 6 {
		t.Errorf("lengths %+v", b.Frames)
	}
	b.Release()
}

func TestAnEmptyBatchTakesAGiantAndShrinksAgain(t *testing.T) {
	t.Parallel()
	p := NewPool(1, 16)
	b, _ := p.Get(t.Context())
	if !b.Append(Frame{}, make([]byte, 1000)) || b.Append(Frame{}, []byte("x")) {
		t.Error("a giant is alone in its batch")
	}
	b.Release()
	if b, _ = p.Get(t.Context()); cap(b.Buf) != 16 || len(b.Frames) != 0 || b.Secrets != nil {
		t.Errorf("after its return the batch holds %d bytes", cap(b.Buf))
	}
	b.Release()
}

func TestPoolIsTheBound(t *testing.T) {
	t.Parallel()
	p := NewPool(2, 16)
	a, _ := p.TryGet()
	b, ok := p.TryGet()
	if !ok || a == b || p.Size() != 2 {
		t.Fatal("two batches are expected")
	}
	if _, ok := p.TryGet(); ok {
		t.Error("a third batch of two")
	}
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if _, err := p.Get(ctx); !errors.Is(err, stop) {
		t.Errorf("got %v, want the cause", err)
	}
	b.Retain(2)
	b.Release()
	b.Release()
	if _, ok := p.TryGet(); ok {
		t.Error("a batch came back that one worker still holds")
	}
	b.Release()
	if c, ok := p.TryGet(); !ok || c != b {
		t.Error("the last release did not bring the batch back")
	}
}

func TestLinkTypeNames(t *testing.T) {
	t.Parallel()
	for l, want := range map[LinkType]string{
		LinkEthernet: "EN10MB", LinkRaw: "RAW", LinkRawBSD: "RAW", LinkLinuxSLL2: "LINUX_SLL2", LinkNull: "NULL",
		LinkRadiotap: "IEEE802_11_RADIO", 65001: "LINKTYPE_65001", 147: "USER0",
	} {
		if got := l.Name(); got != want {
			t.Errorf("%d: got %s, want %s", l, got, want)
		}
	}
	var unknown []LinkType
	for _, l := range []LinkType{LinkEthernet, 13, 8224, 65001, 289} {
		if !l.Assigned() {
			unknown = append(unknown, l)
		}
	}
	if !slices.Equal(unknown, []LinkType{13, 8224, 65001}) {
		t.Errorf("not assigned: %v", unknown)
	}
}
