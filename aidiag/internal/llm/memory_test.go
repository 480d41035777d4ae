package llm_test

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"netwhy/aidiag/faulttest"
)

// TestMemoryIsBounded: an answer without end or measure costs less than 32 MiB
// (rows 44, 45 and 69 of the fault matrix).
//
//nolint:paralleltest // it measures the heap of the process
func TestMemoryIsBounded(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault faulttest.Fault
	}{
		{"error body", faulttest.ErrorHuge(500, 64<<20)},
		{"unpacked error body", faulttest.ErrorBomb(500, 64)},
		{"line", faulttest.HugeLine(8 << 20)},
		{"stream", faulttest.Endless()},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := endpoint(t, faulttest.New(t, c.fault).URL(), nil)
			runtime.GC()
			before := heap()
			ended, most := make(chan struct{}), make(chan uint64)
			go func() {
				peak := uint64(0)
				for {
					peak = max(peak, heap())
					select {
					case <-ended:
						most <- peak
						return
					case <-time.After(time.Millisecond):
					}
				}
			}()
			reply, err := e.Ask(t.Context(), ask())
			close(ended)
			peak := max(<-most, before) - before
			if err == nil || reply.Content != "" || peak > 32<<20 {
				t.Errorf("%d KiB more, %d bytes read: %v", peak>>10, reply.BytesIn, err)
			}
			t.Logf("%d KiB more at the most, %d bytes read", peak>>10, reply.BytesIn)
		})
	}
}

// heap is what objects take now, those to be collected among them.
func heap() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
