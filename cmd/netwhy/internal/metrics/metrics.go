// Package metrics serves what a live run sees and finds to Prometheus. Counting
// costs the analysis nothing: values are read when they are asked for, from a
// snapshot that is renewed once a second.
package metrics

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Snapshot is what is served, at one moment.
type Snapshot struct {
	Packets, Bytes                  uint64
	Kernel, Interface, Queue        uint64 // drops
	QueueUsed, QueueSize            int    // batches
	Connections                     map[string]uint64
	Open, Evicted, Unread, Recorded uint64
	Findings                        map[[2]string]uint64 // by code and severity
	Diagnoses                       map[[3]string]uint64 // by cause, culprit and severity
	Endpoints                       map[[2]string]string // breaker's state by provider and endpoint
	Answers                         map[string]uint64    // of the LLM, by state
	Reasons                         map[string]uint64    // of those that fell back, by class
}

// Metrics is the registry of one run.
type Metrics struct {
	registry     *prometheus.Registry
	last         atomic.Pointer[Snapshot]
	rtt, think   prometheus.Histogram
	desc         map[string]*prometheus.Desc
	server       *http.Server
	listener     net.Listener
	breakerNames []string
}

// New makes the registry.
func New(version string) *Metrics {
	m := &Metrics{
		registry:     prometheus.NewRegistry(),
		desc:         map[string]*prometheus.Desc{},
		breakerNames: []string{"closed", "half-open", "open"},
	}
	// From 100 µs, a fast LAN, to 26 s, longer than people wait.
	buckets := prometheus.ExponentialBuckets(0.0001, 4, 10)
	m.rtt = prometheus.NewHistogram(prometheus.HistogramOpts{Name: "netwhy_tcp_handshake_seconds", Help: "Round trip of TCP handshakes as the capture point sees them.", Buckets: buckets})
	m.think = prometheus.NewHistogram(prometheus.HistogramOpts{Name: "netwhy_server_think_seconds", Help: "Time that servers took before they began the slowest answer of a connection.", Buckets: buckets})
	for name, d := range descriptions() {
		m.desc[name] = prometheus.NewDesc("netwhy_"+name, d.help, d.labels, nil)
	}
	info := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "netwhy_build_info", Help: "Always 1; the version is a label.", ConstLabels: prometheus.Labels{"version": version}}, func() float64 { return 1 })
	m.registry.MustRegister(m.rtt, m.think, info, m, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.last.Store(&Snapshot{})
	return m
}

type description struct {
	help   string
	labels []string
}

func descriptions() map[string]description {
	return map[string]description{
		"packets_total":       {"Frames that were analysed.", nil},
		"bytes_total":         {"Bytes on the wire of the frames that were analysed.", nil},
		"dropped_total":       {"Frames lost, by who lost them.", []string{"where"}},
		"recorded_total":      {"Frames that were recorded.", nil},
		"queue_batches":       {"Batches of frames on their way to the analysis.", nil},
		"queue_batches_limit": {"Batches that can be on that way.", nil},
		"connections_total":   {"Conversations seen.", []string{"proto"}},
		"connections_open":    {"Conversations kept in memory.", nil},
		"evicted_total":       {"Conversations forgotten early for want of memory.", nil},
		"unread_total":        {"Segments and datagrams whose payload was left unread under pressure.", nil},
		"findings":            {"Symptoms that are known at the moment.", []string{"code", "severity"}},
		"diagnoses":           {"Root causes that are known at the moment.", []string{"cause", "culprit", "severity"}},
		"ai_breaker_state":    {"1 for the state that the circuit breaker of an endpoint is in.", []string{"provider", "endpoint", "state"}},
		"ai_answers_total":    {"What became of the questions to the LLM.", []string{"state"}},
		"ai_reasons_total":    {"Why questions to the LLM fell back to the rules.", []string{"class"}},
	}
}

// Set renews the snapshot. It must not be changed afterwards.
func (m *Metrics) Set(s *Snapshot) { m.last.Store(s) }

// Connection notes a connection that ended; times in nanoseconds, 0: not known.
func (m *Metrics) Connection(handshake, think int64) {
	if handshake > 0 {
		m.rtt.Observe(time.Duration(handshake).Seconds())
	}
	if think > 0 {
		m.think.Observe(time.Duration(think).Seconds())
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range m.desc {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	s := m.last.Load()
	counter := func(name string, v uint64, labels ...string) {
		out <- prometheus.MustNewConstMetric(m.desc[name], prometheus.CounterValue, float64(v), labels...)
	}
	gauge := func(name string, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(m.desc[name], prometheus.GaugeValue, v, labels...)
	}
	counter("packets_total", s.Packets)
	counter("bytes_total", s.Bytes)
	counter("dropped_total", s.Kernel, "kernel")
	counter("dropped_total", s.Interface, "interface")
	counter("dropped_total", s.Queue, "queue")
	counter("recorded_total", s.Recorded)
	counter("evicted_total", s.Evicted)
	counter("unread_total", s.Unread)
	gauge("queue_batches", float64(s.QueueUsed))
	gauge("queue_batches_limit", float64(s.QueueSize))
	gauge("connections_open", float64(s.Open))
	for proto, n := range s.Connections {
		counter("connections_total", n, proto)
	}
	for k, n := range s.Findings {
		gauge("findings", float64(n), k[0], k[1])
	}
	for k, n := range s.Diagnoses {
		gauge("diagnoses", float64(n), k[0], k[1], k[2])
	}
	for k, state := range s.Endpoints {
		for _, name := range m.breakerNames {
			v := 0.0
			if name == state {
				v = 1
			}
			gauge("ai_breaker_state", v, k[0], k[1], name)
		}
	}
	for state, n := range s.Answers {
		counter("ai_answers_total", n, state)
	}
	for class, n := range s.Reasons {
		counter("ai_reasons_total", n, class)
	}
}

// Error says why metrics cannot be served.
type Error struct {
	Addr string
	Err  error
}

func (e *Error) Error() string {
	return fmt.Sprintf("--metrics %s: %v; name an address such as :9469 (loopback) or 192.0.2.7:9469", e.Addr, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Listen opens the address. Without a host it is loopback: what the metrics tell
// of a network is not for everybody.
func (m *Metrics) Listen(ctx context.Context, addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return &Error{Addr: addr, Err: err}
	}
	if host == "" {
		host = "127.0.0.1"
	}
	var lc net.ListenConfig
	if m.listener, err = lc.Listen(ctx, "tcp", net.JoinHostPort(host, port)); err != nil {
		return &Error{Addr: addr, Err: err}
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	const patience = 10 * time.Second
	m.server = &http.Server{Handler: mux, ReadHeaderTimeout: patience, ReadTimeout: patience, WriteTimeout: patience, IdleTimeout: time.Minute}
	return nil
}

// Addr is where the metrics are served.
func (m *Metrics) Addr() string { return m.listener.Addr().String() }

// Serve answers until ctx ends.
func (m *Metrics) Serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = m.server.Close() }) // a scrape that is cut short is asked for again
	defer stop()
	if err := m.server.Serve(m.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve metrics: %w", err)
	}
	return nil
}
