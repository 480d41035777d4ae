package http

import (
	"slices"
	"strings"
	"testing"
	"time"

	"netwhy/analyze/decode"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/prototest"
)

const (
	up   = flow.ToServer
	down = flow.ToClient
	get  = "GET /x HTTP/1.1\r\nHost: www.test:8080\r\nUser-Agent: t\r\n\r\n"
)

func fresh() *prototest.Conversation { return prototest.New(Spec(), proto.TCP, 80) }

func step(dir flow.Dir, ms int, text string) prototest.Step {
	return prototest.Step{Dir: dir, At: time.Duration(ms) * time.Millisecond, B: []byte(text)}
}

func TestConversations(t *testing.T) {
	t.Parallel()
	ok := "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
	for _, c := range []struct {
		what  string
		steps []prototest.Step
		why   proto.End
		want  []string // exchanges: label code flags
		codes string
	}{
		{
			"two on one connection",
			[]prototest.Step{step(up, 0, get), step(down, 10, ok), step(up, 20, get), step(down, 30, ok)},
			proto.Closed,
			[]string{"GET /x 200", "GET /x 200"},
			"",
		},
		{
			"pipelined",
			[]prototest.Step{step(up, 0, get+strings.Replace(get, "/x", "/y", 1)), step(down, 10, ok+ok)},
			proto.Closed,
			[]string{"GET /x 200", "GET /y 200"},
			"",
		},
		{
			"chunked both ways",
			[]prototest.Step{
				step(up, 0, "POST /p HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
				step(down, 10, "HTTP/1.1 201 Created\r\nTransfer-Encoding: gzip, chunked\r\n\r\n4;x=y\r\n\r\n\r\n\r\n0\r\nTrailer: t\r\n\r\n"),
				step(up, 20, get), step(down, 30, ok),
			},
			proto.Closed,
			[]string{"POST /p 201", "GET /x 200"},
			"",
		},
		{"head", []prototest.Step{
			step(up, 0, "HEAD /x HTTP/1.1\r\n\r\n"), step(down, 10, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
			step(up, 20, get), step(down, 30, ok),
		}, proto.Closed, []string{"HEAD /x 200", "GET /x 200"}, ""},
		{
			"until close",
			[]prototest.Step{step(up, 0, get), step(down, 10, "HTTP/1.0 200 OK\r\n\r\n"), step(down, 20, "data")},
			proto.Closed,
			[]string{"GET /x 200"},
			"",
		},
		{
			"not modified",
			[]prototest.Step{step(up, 0, get), step(down, 10, "HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n"), step(up, 20, get), step(down, 30, ok)},
			proto.Closed,
			[]string{"GET /x 304", "GET /x 200"},
			"",
		},
		{
			"continue",
			[]prototest.Step{
				step(up, 0, "PUT /u HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"),
				step(down, 5, "HTTP/1.1 100 Continue\r\n\r\n"), step(up, 10, "abc"), step(down, 15, "HTTP/1.1 204 No Content\r\n\r\n"),
			},
			proto.Closed,
			[]string{"PUT /u 204"},
			"",
		},
		{
			"continue not answered",
			[]prototest.Step{
				step(up, 0, "PUT /u HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"),
				step(up, 1000, "abc"), step(down, 1005, "HTTP/1.1 204 No Content\r\n\r\n"),
			},
			proto.Closed,
			[]string{"PUT /u 204"},
			"http.expect-not-answered",
		},
		{
			"server error",
			[]prototest.Step{step(up, 0, get), step(down, 10, "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")},
			proto.Closed,
			[]string{"GET /x 503 failed"},
			"http.server-error",
		},
		{
			"not found",
			[]prototest.Step{step(up, 0, get), step(down, 10, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")},
			proto.Closed,
			[]string{"GET /x 404 failed"},
			"http.client-error",
		},
		{
			"challenge",
			[]prototest.Step{step(up, 0, get), step(down, 10, "HTTP/1.1 401 U\r\nWWW-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n")},
			proto.Closed,
			[]string{"GET /x 401"},
			"http.auth-rejected",
		},
		{
			"NTLM in three steps",
			[]prototest.Step{
				step(up, 0, "GET /x HTTP/1.1\r\nAuthorization: NTLM TlRMTVNTUAAB\r\n\r\n"),
				step(down, 10, "HTTP/1.1 401 U\r\nWWW-Authenticate: NTLM TlRMTVNTUAAC\r\nContent-Length: 0\r\n\r\n"),
				step(up, 20, "GET /x HTTP/1.1\r\nAuthorization: NTLM TlRMTVNTUAAD\r\n\r\n"), step(down, 30, ok),
			},
			proto.Closed,
			[]string{"GET /x 401", "GET /x 200"},
			"",
		},
		{"slow", []prototest.Step{step(up, 0, get), step(down, 2500, ok)}, proto.Closed, []string{"GET /x 200"}, "http.slow-response"},
		{"no response", []prototest.Step{step(up, 0, get)}, proto.Reset, []string{"GET /x  failed cut"}, "http.no-response"},
		{"capture ends before the response", []prototest.Step{step(up, 0, get)}, proto.Over, []string{"GET /x  cut"}, ""},
		{
			"response cut",
			[]prototest.Step{step(up, 0, get), step(down, 10, "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello")},
			proto.Reset,
			[]string{"GET /x 200 failed cut"},
			"http.truncated-response",
		},
		{"response before the request", []prototest.Step{step(down, 0, ok), step(up, 20, get), step(down, 30, ok)}, proto.Closed, []string{"GET /x 200"}, ""},
		{
			"no request that can be read",
			[]prototest.Step{step(up, 0, "\x00\x01nonsense"), step(down, 10, "HTTP/1.0 400 Bad\r\n\r\nno")},
			proto.Closed,
			[]string{"(unreadable request) 400 failed"},
			"http.client-error",
		},
		{"request without version", []prototest.Step{step(up, 0, "GET /old\r\n\r\n"), step(down, 10, "HTTP/1.0 200 OK\r\n\r\nx")}, proto.Closed, []string{"GET /old 200"}, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			got := prototest.Run(t, fresh(), c.steps, c.why)
			var have []string
			for _, x := range got.Rec.Exchanges {
				line := x.Label + " " + x.Code
				if x.Failed {
					line += " failed"
				}
				if !x.Complete {
					line += " cut"
				}
				have = append(have, line)
			}
			if !slices.Equal(have, c.want) {
				t.Errorf("exchanges:\n got %q\nwant %q", have, c.want)
			}
			if codes := strings.Join(got.Rec.Codes(), " "); codes != c.codes {
				t.Errorf("codes: got %q, want %q", codes, c.codes)
			}
			if len(got.Rec.Bad) > 0 {
				t.Errorf("malformed: %v", got.Rec.Bad)
			}
			if c.what == "no request that can be read" {
				return // cut into pieces, the first piece decides what is unreadable
			}
			prototest.EveryCut(t, fresh, c.steps)
			prototest.EveryPrefix(t, fresh, c.steps)
		})
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	c := fresh()
	c.Send(up, time.Second, []byte(get[:9])).Send(up, 2*time.Second, []byte(get[9:]))
	c.Send(down, 3*time.Second, []byte("HTTP/1.1 20")).Send(down, 4*time.Second, []byte("0 OK\r\nContent-Length: 4\r\n\r\nab")).Send(down, 5*time.Second, []byte("cd"))
	x := c.Rec.Exchanges[0]
	for i, w := range [][2]int64{{x.ReqStart, 1}, {x.ReqEnd, 2}, {x.RespStart, 3}, {x.RespEnd, 5}} {
		if w[0] != prototest.Epoch+w[1]*int64(time.Second) {
			t.Errorf("time %d: got %d, want %d s", i, w[0]-prototest.Epoch, w[1])
		}
	}
	if x.ReqFrame != 1 || x.ReqLast != 2 || x.RespFrame != 3 || x.RespLast != 5 || x.ReqBytes != uint64(len(get)) || x.RespBytes != 42 {
		t.Errorf("%+v", x)
	}
	if c.Facts.Name != "www.test" || c.Facts.App != "http" {
		t.Errorf("facts %+v", c.Facts)
	}
}

func TestGaps(t *testing.T) {
	t.Parallel()
	ok := "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
	for _, c := range []struct {
		what  string
		steps []prototest.Step
		codes string
		n     uint64 // statuses counted
		done  int    // complete exchanges
	}{
		{"inside a body", []prototest.Step{step(up, 0, get), step(down, 1, ok[:len(ok)-4]), {Dir: down, Gap: 2}, step(down, 3, "lo"), step(up, 4, get), step(down, 5, ok)}, "", 1, 1},
		{"a whole response", []prototest.Step{step(up, 0, get), {Dir: down, Gap: len(ok)}, step(up, 2, get), step(down, 3, ok)}, "", 1, 1},
		{"a whole request", []prototest.Step{{Dir: up, Gap: len(get)}, step(down, 3, ok), step(up, 4, get), step(down, 5, ok)}, "", 2, 1},
		{"middle of a response, then a tail", []prototest.Step{step(up, 0, get), step(down, 1, ok[:20]), {Dir: down, Gap: 10}, step(down, 3, "tail\r\nof it"), step(up, 4, get), step(down, 5, ok)}, "", 1, 1},
		// tshark waits for the end of that line, and finds it in the next response.
		{"a tail that is no line", []prototest.Step{step(up, 0, get), step(down, 1, ok[:20]), {Dir: down, Gap: 10}, step(down, 3, "tail of it"), step(up, 4, get), step(down, 5, ok)}, "", 0, 1},
		{"and the response after it", []prototest.Step{step(up, 0, get), step(down, 1, ok[:20]), {Dir: down, Gap: 10}, step(down, 3, "tail of it"), step(up, 4, get), step(down, 5, ok), step(up, 6, get), step(down, 7, ok)}, "", 1, 2},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			got := prototest.Run(t, fresh(), c.steps, proto.Closed)
			done := 0
			for _, x := range got.Rec.Exchanges {
				if x.Complete {
					done++
				}
			}
			if n := got.Rec.Counts[proto.HTTPStatus]["200"]; n != c.n || done != c.done || len(got.Rec.Bad) > 0 || len(got.Rec.Reports) > 0 {
				t.Errorf("statuses %d, complete %d, malformed %v, codes %v", n, done, got.Rec.Bad, got.Rec.Codes())
			}
		})
	}
}

// snapped is a packet whose payload has wire bytes, of which captured are there.
func snapped(payload uint32, captured int, wire uint32) *decode.Packet {
	var p decode.Packet
	p.Payload, p.End, p.PayloadLen = payload, payload+uint32(captured), wire
	return &p
}

// A short snaplen leaves the beginnings of messages: they still make pairs.
func TestSnapped(t *testing.T) {
	t.Parallel()
	c := fresh()
	for i, code := range []string{"200", "500"} {
		for dir, text := range []string{get[:24], "HTTP/1.1 " + code + " OK\r\nDate"} {
			c.Packet = snapped(54, len(text), 1000)
			c.Send(flow.Dir(dir), time.Duration(i)*time.Second, []byte(text))
			c.Gap(flow.Dir(dir), time.Duration(i)*time.Second, 1000-len(text))
		}
	}
	c.End(2*time.Second, proto.Over)
	if n := c.Rec.Counts[proto.HTTPStatus]; n["200"] != 1 || n["500"] != 1 || len(c.Rec.Exchanges) != 2 || c.Rec.Exchanges[1].Code != "500" {
		t.Errorf("statuses %v, exchanges %+v", n, c.Rec.Exchanges)
	}
	if codes := strings.Join(c.Rec.Codes(), " "); codes != "http.server-error" || len(c.Rec.Bad) > 0 {
		t.Errorf("codes %q, malformed %v", codes, c.Rec.Bad)
	}
}

// Only requests: what is missing is the other direction, not an answer.
func TestOneDirectionCaptured(t *testing.T) {
	t.Parallel()
	c := prototest.Run(t, fresh(), []prototest.Step{step(up, 0, get), step(up, 2000, get), step(up, 4000, get)}, proto.Closed)
	if len(c.Rec.Reports) > 0 {
		t.Errorf("reported %v", c.Rec.Codes())
	}
}

func TestHandsOver(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"CONNECT www.test:443 HTTP/1.1\r\n\r\n", "HTTP/1.1 200 Connection established\r\n\r\n"},
		{"GET /chat HTTP/1.1\r\nUpgrade: websocket\r\n\r\n", "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n"},
	} {
		g := fresh()
		g.Send(up, 0, []byte(c[0])).Send(down, 1, []byte(c[1]+"\x81\x02hi"))
		if !g.Became || string(g.Unused(down)) != "\x81\x02hi" || len(g.Rec.Exchanges) != 1 || !g.Rec.Exchanges[0].Complete {
			t.Errorf("%s: became %v, unused %q, exchanges %+v", c[0][:7], g.Became, g.Unused(down), g.Rec.Exchanges)
		}
	}
}

func TestRedirectIsPublished(t *testing.T) {
	t.Parallel()
	c := fresh()
	c.Send(up, 0, []byte("GET /a/b?q HTTP/1.1\r\nHost: w.test\r\n\r\n")).Send(down, 1, []byte("HTTP/1.1 302 Found\r\nLocation: c\r\nContent-Length: 0\r\n\r\n"))
	r, ok := c.Rec.Events[0].(*Redirect)
	if !ok || r.From != "http://w.test/a/b?q" || r.To != "http://w.test/a/c" || r.Status != 302 {
		t.Errorf("got %+v", c.Rec.Events[0])
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]proto.Verdict{
		"GET / HTTP/1.1\r\n":            proto.Certain,
		"GET / HTTP/1.1":                proto.Certain,
		"GET /long":                     proto.Likely,
		"PRI * HTTP/2.0\r\n\r\nSM\r\n":  proto.No,
		"OPTIONS sip:x SIP/2.0\r\n":     proto.No,
		"HTTP/1.1 200 OK\r\n":           proto.Certain,
		"HTTP/2 200\r\n":                proto.No,
		"HTT":                           proto.NeedMore,
		"PROPF":                         proto.NeedMore,
		"SSH-2.0-OpenSSH\r\n":           proto.No,
		"\x16\x03\x01\x02\x00\x01":      proto.No,
		"":                              proto.NeedMore,
		"EHLO mail.test\r\n":            proto.No,
		"\r\nGET / HTTP/1.1\r\n":        proto.Certain,
		"get key\r\n":                   proto.No,
		"POST /a b HTTP/1.0\r\nHost: x": proto.Certain,
	} {
		if got := probe(up, []byte(in)); got != want {
			t.Errorf("%q: got %d, want %d", in, got, want)
		}
	}
}

func TestSSDPCountsStatus(t *testing.T) {
	t.Parallel()
	c := prototest.New(SSDP(), proto.UDP, 1900)
	c.Send(down, 0, []byte("HTTP/1.1 200 OK\r\nST: upnp:rootdevice\r\n\r\n"))
	if c.Rec.Counts[proto.HTTPStatus]["200"] != 1 {
		t.Errorf("counts %v", c.Rec.Counts[proto.HTTPStatus])
	}
}

func FuzzHTTP(f *testing.F) {
	f.Add(prototest.Seed([]prototest.Step{step(up, 0, get), step(down, 1, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")}))
	f.Add(prototest.Seed([]prototest.Step{step(up, 0, "PUT / HTTP/1.1\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"), step(down, 1, "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 401 A\r\nWWW-Authenticate: Digest stale=true\r\n\r\n")}))
	f.Fuzz(func(t *testing.T, b []byte) { prototest.Hostile(t, fresh(), b) })
}

// A body of any size is counted without keeping it or allocating.
func TestBodyAllocatesNothing(t *testing.T) {
	c := fresh()
	c.Send(up, 0, []byte(get)).Send(down, 0, []byte("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n"))
	a := &analyzer{half: [2]half{1: {phase: inBody, left: 1 << 40}}, pending: make([]request, 1)}
	s := &proto.Scope{Out: c.Rec}
	piece := make([]byte, 1400)
	if n := testing.AllocsPerRun(100, func() { _, _ = a.Data(s, down, piece) }); n != 0 {
		t.Errorf("%v allocations a segment", n)
	}
}

// A capture that begins in the middle of a picture sees the requests behind it.
func TestMidway(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("\x00\x01\xfe\xff", 300)
	for text, want := range map[string]proto.Verdict{
		body: proto.Likely, strings.Repeat("220 a greeting ", 10) + "\r\n": proto.No, strings.Repeat("words of a page ", 10): proto.NeedMore, strings.Repeat("bGluZXMgb2YgYmFzZTY0\n", 60): proto.Likely, "\x17\x03\x03\x01\x00" + body: proto.No, "\x00\x01": proto.No,
	} {
		if v := probeMidway(down, []byte(text)); v != want {
			t.Errorf("%.12q: %d, want %d", text, v, want)
		}
	}
	if probeMidway(up, []byte(body)) != proto.No {
		t.Error("a request was guessed")
	}
	c := prototest.New(Midway(), proto.TCP, 80)
	c.Rec.Declare(Spec().Codes...)
	c.Send(down, 0, []byte(body)).Send(down, time.Second, []byte(body))
	c.Send(up, 2*time.Second, []byte(get)).Send(down, 2100*time.Millisecond, []byte("HTTP/1.1 500 Oops\r\nContent-Length: 2\r\n\r\nno"))
	c.End(3*time.Second, proto.Over)
	if len(c.Rec.Exchanges) != 1 || c.Rec.Exchanges[0].Code != "500" || !c.Rec.Exchanges[0].Complete || len(c.Rec.Bad) > 0 {
		t.Errorf("exchanges %+v, malformed %q", c.Rec.Exchanges, c.Rec.Bad)
	}
}

// With a short snaplen the start line has no end.
func TestSnappedStartLine(t *testing.T) {
	t.Parallel()
	c := fresh()
	c.Packet = snapped(66, 14, 236)
	c.Send(up, 0, []byte("GET /index.htm")).Send(down, time.Second, []byte("HTTP/1.0 200 O"))
	c.End(2*time.Second, proto.Closed)
	if c.Rec.Counts[proto.HTTPStatus]["200"] != 1 || len(c.Rec.Exchanges) != 1 || c.Rec.Exchanges[0].Label != "GET /index.htm" {
		t.Errorf("statuses %v, exchanges %+v", c.Rec.Counts[proto.HTTPStatus], c.Rec.Exchanges)
	}
}

func BenchmarkHead(b *testing.B) {
	raw := []byte("GET /some/path?x=1 HTTP/1.1\r\nHost: www.example.test\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:120.0)\r\n" +
		"Accept: text/html,application/xhtml+xml\r\nAccept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate\r\n" +
		"Connection: keep-alive\r\nCookie: a=b; c=d\r\nUpgrade-Insecure-Requests: 1\r\nCache-Control: max-age=0\r\n\r\n")
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		var h head
		if ok, _ := h.parse(raw, false); !ok || len(h.host) == 0 {
			b.Fatal("not read")
		}
	}
}
