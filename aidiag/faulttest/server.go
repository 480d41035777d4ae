// Package faulttest is an OpenAI-compatible server that fails on purpose, for
// the tests of aidiag and of the commands. It listens on loopback, speaks
// HTTP/1.1 over raw TCP, so that it can break off anywhere, and keeps every byte
// it was sent.
package faulttest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// Request is one request as it came.
type Request struct {
	Method, Path string
	Header       http.Header
	Body         []byte
	At           time.Time
}

// System returns the system message, User the first user message, and Last the
// last message of the request.
func (r Request) System() string { return r.message(func(m []message) message { return m[0] }) }

// User returns the first user message: the case.
func (r Request) User() string {
	return r.message(func(ms []message) message {
		for _, m := range ms {
			if m.Role == "user" {
				return m
			}
		}
		return message{}
	})
}

// Last returns the last message.
func (r Request) Last() string {
	return r.message(func(m []message) message { return m[len(m)-1] })
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func (r Request) message(pick func([]message) message) string {
	var doc struct {
		Messages []message `json:"messages"`
	}
	if json.Unmarshal(r.Body, &doc) != nil || len(doc.Messages) == 0 {
		return ""
	}
	return pick(doc.Messages).Content
}

// Fault answers one request, well or badly.
type Fault func(c *Conn)

// Server plays one endpoint. Faults are used in turn; the last one stays.
type Server struct {
	t    testing.TB
	addr string
	ctx  context.Context //nolint:containedctx // the life of the server, ended by Close
	stop context.CancelFunc
	wg   sync.WaitGroup

	hold net.Listener // keeps the port ours while the server is stopped

	mu       sync.Mutex
	listener net.Listener
	faults   []Fault
	requests []Request
	accepted int
	open     map[net.Conn]bool
}

// New starts a server; it ends with the test.
func New(tb testing.TB, faults ...Fault) *Server {
	tb.Helper()
	// It lives until the cleanups, behind the end of the test's own context.
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	s := &Server{t: tb, ctx: ctx, stop: cancel, faults: faults, open: map[net.Conn]bool{}}
	if l := s.reserve(); l != nil {
		s.begin(l)
	} else {
		s.Start()
	}
	tb.Cleanup(s.Close)
	return s
}

// reserve takes a port at one loopback address and serves at another: while the
// server is stopped, nobody else's test gets the port. It returns the listener;
// nil: there is no second address.
func (s *Server) reserve() net.Listener {
	var lc net.ListenConfig
	hold, err := lc.Listen(s.ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil
	}
	_, port, err := net.SplitHostPort(hold.Addr().String())
	if err != nil {
		_ = hold.Close()
		return nil
	}
	at := net.JoinHostPort("127.0.0.2", port)
	l, err := lc.Listen(s.ctx, "tcp", at)
	if err != nil { // a system with one loopback address
		_ = hold.Close()
		return nil
	}
	s.hold = hold
	return l
}

// Start listens (again, on the same port).
func (s *Server) Start() {
	s.t.Helper()
	at := "127.0.0.1:0"
	if s.addr != "" {
		at = s.addr
	}
	var lc net.ListenConfig
	l, err := lc.Listen(s.ctx, "tcp", at)
	if err != nil {
		s.t.Fatalf("fault server: %v", err)
	}
	s.begin(l)
}

// begin serves at a listener.
func (s *Server) begin(l net.Listener) {
	s.mu.Lock()
	s.listener, s.addr = l, l.Addr().String()
	s.mu.Unlock()
	s.wg.Add(1)
	go s.accept(l)
}

// Stop refuses new connections and resets those that stand.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil {
		_ = s.listener.Close()
		s.listener = nil
	}
	for c := range s.open {
		reset(c)
	}
}

// Close stops the server and waits for its goroutines.
func (s *Server) Close() {
	s.stop()
	s.Stop()
	if s.hold != nil {
		_ = s.hold.Close()
	}
	s.wg.Wait()
}

// URL is the base URL of the endpoint.
func (s *Server) URL() string { return "http://" + s.addr + "/v1" }

// Addr is the host and port.
func (s *Server) Addr() string { return s.addr }

// Script replaces the faults.
func (s *Server) Script(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = faults
}

// Requests returns what came so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Accepted is the number of connections that were opened.
func (s *Server) Accepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

func (s *Server) accept(l net.Listener) {
	defer s.wg.Done()
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.accepted++
		s.open[c] = true
		s.mu.Unlock()
		s.wg.Add(1)
		go s.serve(c)
	}
}

func (s *Server) serve(nc net.Conn) {
	defer s.wg.Done()
	defer func() {
		s.mu.Lock()
		delete(s.open, nc)
		s.mu.Unlock()
		_ = nc.Close()
	}()
	in := bufio.NewReader(nc)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		r := Request{Method: req.Method, Path: req.URL.RequestURI(), Header: req.Header.Clone(), Body: body, At: time.Now()}
		f := s.next(r)
		c := &Conn{Request: r, Server: s, conn: nc, ctx: s.ctx}
		f(c)
		if !c.reusable {
			return
		}
	}
}

func (s *Server) next(r Request) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	if len(s.faults) == 0 {
		return JSON(http.StatusNotFound, `{"error":{"message":"no script"}}`)
	}
	f := s.faults[0]
	if len(s.faults) > 1 {
		s.faults = s.faults[1:]
	}
	return f
}

// Conn is the connection of the request that is answered.
type Conn struct {
	Request  Request
	Server   *Server
	conn     net.Conn
	ctx      context.Context //nolint:containedctx // the server's
	reusable bool
}

// Write sends raw bytes; the connection is closed behind the fault.
func (c *Conn) Write(format string, args ...any) bool {
	text := format
	if len(args) > 0 {
		text = fmt.Sprintf(format, args...)
	}
	_, err := io.WriteString(c.conn, text)
	return err == nil
}

// Reset ends the connection with a RST.
func (c *Conn) Reset() { reset(c.conn) }

func reset(nc net.Conn) {
	if t, ok := nc.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = nc.Close()
}

// Stall does nothing until the client goes away or the server ends.
func (c *Conn) Stall() {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = c.conn.Read(make([]byte, 1))
	}()
	select {
	case <-gone:
	case <-c.ctx.Done():
		reset(c.conn)
		<-gone
	}
}

// Pause waits, but no longer than the server lives.
func (c *Conn) Pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.ctx.Done():
	}
}

// Page sends one complete response with a length.
func (c *Conn) Page(status int, kind, body string, headers ...string) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n", status, http.StatusText(status), kind, len(body))
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	b.WriteString("\r\n" + body)
	c.reusable = c.Write("%s", b.String())
}

// Stream sends the header of an event stream that ends with the connection.
func (c *Conn) Stream() bool {
	return c.Write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Request-Id: req-1\r\nConnection: close\r\n\r\n")
}

// Chunked sends the header of a chunked event stream.
func (c *Conn) Chunked() bool {
	return c.Write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Request-Id: req-1\r\nTransfer-Encoding: chunked\r\n\r\n")
}

// Chunk sends one chunk of a chunked body.
func (c *Conn) Chunk(data string) bool {
	return data == "" || c.Write("%x\r\n%s\r\n", len(data), data) // an empty chunk would be the end
}

// EndChunks ends a chunked body; the connection can be used again.
func (c *Conn) EndChunks() { c.reusable = c.Write("0\r\n\r\n") }

// Delta is one frame of a stream with a piece of content.
func Delta(content string) string {
	text, err := json.Marshal(content)
	if err != nil {
		text = []byte(`""`)
	}
	return `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"fault-1","choices":[{"index":0,"delta":{"content":` + string(text) + `},"finish_reason":null}]}` + "\n\n"
}

// Finish is the frame that says why the model stopped.
func Finish(reason string) string {
	return `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"fault-1","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}` + "\n\n"
}

// Usage is the frame that counts the tokens; Done ends a stream.
const (
	Usage = `data: {"id":"c1","choices":[],"usage":{"prompt_tokens":700,"completion_tokens":90,"total_tokens":790}}` + "\n\n"
	Done  = "data: [DONE]\n\n"
)

// Pieces cuts a text into frames of at most n bytes.
func Pieces(content string, n int) string {
	var b strings.Builder
	for len(content) > 0 {
		k := min(n, len(content))
		for k < len(content) && content[k]&0xc0 == 0x80 {
			k++
		}
		b.WriteString(Delta(content[:k]))
		content = content[k:]
	}
	return b.String()
}

// Deaf listens, accepts and never reads or writes: its address is returned.
func Deaf(tb testing.TB) string {
	tb.Helper()
	var lc net.ListenConfig
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		cancel()
		tb.Fatalf("deaf server: %v", err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		var held []net.Conn
		for {
			c, err := l.Accept()
			if err != nil {
				break
			}
			held = append(held, c)
		}
		for _, c := range held {
			_ = c.Close()
		}
	})
	tb.Cleanup(func() {
		cancel()
		_ = l.Close()
		wg.Wait()
	})
	return l.Addr().String()
}

// ErrNoCase tells that a request holds no case document.
var ErrNoCase = errors.New("the request holds no case document")
