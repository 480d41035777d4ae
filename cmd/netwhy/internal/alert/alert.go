// Package alert tells somebody outside of a diagnosis: a webhook, or syslog. It
// never holds the run up: what waits is bounded, the oldest makes room, and what
// was left out is told with the next.
package alert

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"netwhy/cmd/netwhy/internal/report"
)

// Rates and bounds.
const (
	each     = 2 * time.Second // between two alerts, once burst were sent
	burst    = 10
	waiting  = 100 // alerts that wait
	patience = 10 * time.Second
	tries    = 3
)

// Alert is one diagnosis, as a webhook gets it.
type Alert struct {
	Schema     string            `json:"schema"`
	Time       time.Time         `json:"time"`
	Host       string            `json:"host"`
	Interfaces []string          `json:"interfaces"`
	Suppressed uint64            `json:"suppressed"` // alerts left out before this one
	Diagnosis  *report.Diagnosis `json:"diagnosis"`
}

// Schema names the shape of an Alert.
const Schema = "netwhy.alert/1"

// Target sends an alert.
type Target interface {
	Send(ctx context.Context, a *Alert) error
}

// Queue holds what waits to be sent.
type Queue struct {
	target Target
	failed func(error)

	mu     sync.Mutex
	items  []Alert
	lost   uint64
	signal chan struct{}
}

// NewQueue makes a queue; failed is told of alerts that could not be sent.
func NewQueue(target Target, failed func(error)) *Queue {
	return &Queue{target: target, failed: failed, signal: make(chan struct{}, 1)}
}

// Add takes an alert and never waits.
func (q *Queue) Add(a Alert) {
	q.mu.Lock()
	if len(q.items) == waiting {
		q.items = q.items[1:]
		q.lost++
	}
	q.items = append(q.items, a)
	q.mu.Unlock()
	select {
	case q.signal <- struct{}{}:
	default:
	}
}

func (q *Queue) take() (Alert, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		return Alert{}, false
	}
	a := q.items[0]
	q.items = q.items[1:]
	a.Suppressed, q.lost = q.lost, 0
	return a, true
}

// Run sends until ctx ends, at a bounded rate.
func (q *Queue) Run(ctx context.Context) {
	left := burst
	refill := time.NewTicker(each)
	defer refill.Stop()
	for {
		a, ok := Alert{}, false
		if left > 0 {
			a, ok = q.take()
		}
		if ok {
			left--
			if err := q.send(ctx, &a); err != nil && ctx.Err() == nil {
				q.failed(err)
			}
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-q.signal:
		case <-refill.C:
			left = min(left+1, burst)
		}
	}
}

// Flush sends what waits, each once, until ctx ends: for the end of a run, when
// Run has returned.
func (q *Queue) Flush(ctx context.Context) {
	for ctx.Err() == nil {
		a, ok := q.take()
		if !ok {
			return
		}
		if err := q.target.Send(ctx, &a); err != nil {
			q.failed(err)
		}
	}
}

func (q *Queue) send(ctx context.Context, a *Alert) error {
	var err error
	for n := range tries {
		if err = q.target.Send(ctx, a); err == nil {
			return nil
		}
		pause := time.NewTimer(time.Duration(1<<n) * time.Second)
		select {
		case <-ctx.Done():
			pause.Stop()
			return err
		case <-pause.C:
		}
	}
	return err
}

// Webhook posts alerts as JSON.
type Webhook struct {
	url    string
	client *http.Client
}

// NewWebhook checks the URL.
func NewWebhook(raw string) (*Webhook, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("--alert-webhook %q: no URL of http or https", raw)
	}
	return &Webhook{url: raw, client: &http.Client{Timeout: patience}}, nil
}

var errRefused = errors.New("the webhook refused the alert")

// Send implements Target.
func (w *Webhook) Send(ctx context.Context, a *Alert) error {
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := w.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	const enough = 64 << 10
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, enough))
	if resp.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%w: %s", errRefused, resp.Status)
	}
	return nil
}
