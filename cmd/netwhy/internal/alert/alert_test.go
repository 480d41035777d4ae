package alert

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"netwhy/cmd/netwhy/internal/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sink is a target that notes what it gets, and fails at first.
type sink struct {
	mu    sync.Mutex
	got   []Alert
	at    []time.Time
	fails int
}

var errDown = errors.New("down")

func (s *sink) Send(_ context.Context, a *Alert) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails > 0 {
		s.fails--
		return errDown
	}
	s.got, s.at = append(s.got, *a), append(s.at, time.Now())
	return nil
}

// TestRateIsBounded: a flood of diagnoses becomes a burst, then one every two
// seconds; the oldest that have to wait are counted in the next that is sent.
func TestRateIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		q := NewQueue(s, func(err error) { t.Error(err) })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); q.Run(ctx) }()
		for range 500 {
			q.Add(Alert{Schema: Schema, Diagnosis: &report.Diagnosis{}})
		}
		time.Sleep(21 * time.Second)
		cancel()
		<-done
		if n := len(s.got); n < burst || n > burst+11 {
			t.Errorf("%d alerts in 21 s", n)
		}
		lost := uint64(0)
		for _, a := range s.got {
			lost += a.Suppressed
		}
		if lost+uint64(len(s.got))+waiting < 500 {
			t.Errorf("%d sent, %d told as left out, at most %d wait: of 500", len(s.got), lost, waiting)
		}
	})
}

func TestFailuresAreTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var failed []error
		s := &sink{fails: tries + 1}
		q := NewQueue(s, func(err error) { failed = append(failed, err) })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); q.Run(ctx) }()
		q.Add(Alert{})
		q.Add(Alert{})
		time.Sleep(time.Minute)
		cancel()
		<-done
		if len(failed) != 1 || len(s.got) != 1 {
			t.Errorf("%d failed, %d sent; one each is right: it was down for one alert's tries and one more", len(failed), len(s.got))
		}
	})
}

// TestFlush: what the end of a run brings is sent, as long as there is time.
func TestFlush(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var failed []error
		s := &sink{fails: 1}
		q := NewQueue(s, func(err error) { failed = append(failed, err) })
		for range 3 {
			q.Add(Alert{})
		}
		q.Flush(t.Context())
		if len(s.got) != 2 || len(failed) != 1 {
			t.Errorf("%d sent, %d failed", len(s.got), len(failed))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		q.Add(Alert{})
		if q.Flush(ctx); len(s.got) != 2 {
			t.Error("sent after the end")
		}
	})
}

func TestWebhook(t *testing.T) {
	t.Parallel()
	var got struct{ Diagnosis struct{ Cause string } }
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/no") {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	w, err := NewWebhook(server.URL + "/yes")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Send(t.Context(), &Alert{Schema: Schema, Diagnosis: &report.Diagnosis{Cause: "tcp-packet-loss"}}); err != nil || got.Diagnosis.Cause != "tcp-packet-loss" {
		t.Errorf("%v, got %+v", err, got)
	}
	if w, err = NewWebhook(server.URL + "/no"); err != nil {
		t.Fatal(err)
	}
	if err := w.Send(t.Context(), &Alert{}); !errors.Is(err, errRefused) {
		t.Error(err)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	for _, bad := range []string{"", "ftp://x/", "not a url", "https://"} {
		if _, err := NewWebhook(bad); err == nil {
			t.Errorf("%q was taken for a URL", bad)
		}
	}
}
