package http2

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/web"
	"netwhy/analyze/proto/prototest"
)

const (
	up   = flow.ToServer
	down = flow.ToClient
)

// peer writes the frames of one side.
type peer struct {
	dir flow.Dir
	buf bytes.Buffer
	f   *http2.Framer
	hb  bytes.Buffer
	enc *hpack.Encoder
}

func newPeer(dir flow.Dir) *peer {
	p := &peer{dir: dir}
	p.f = http2.NewFramer(&p.buf, nil)
	p.enc = hpack.NewEncoder(&p.hb)
	return p
}

func (p *peer) block(kv ...string) []byte {
	p.hb.Reset()
	for i := 0; i < len(kv); i += 2 {
		_ = p.enc.WriteField(hpack.HeaderField{Name: kv[i], Value: kv[i+1]})
	}
	return bytes.Clone(p.hb.Bytes())
}

func (p *peer) headers(stream uint32, end bool, kv ...string) {
	_ = p.f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: p.block(kv...), EndStream: end, EndHeaders: true})
}

func (p *peer) get(stream uint32, path string) {
	p.headers(stream, true, ":method", "GET", ":scheme", "https", ":authority", "www.test", ":path", path)
}

func (p *peer) step(ms int) prototest.Step {
	b := bytes.Clone(p.buf.Bytes())
	p.buf.Reset()
	return prototest.Step{Dir: p.dir, At: time.Duration(ms) * time.Millisecond, B: b}
}

func fresh() *prototest.Conversation {
	c := prototest.New(Spec(), proto.TCP, 443)
	c.Rec.Declare(web.Defs()...)
	return c
}

func begin(c, s *peer) []prototest.Step {
	c.buf.WriteString(preface)
	_ = c.f.WriteSettings()
	_ = s.f.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 100})
	_ = s.f.WriteSettingsAck()
	return []prototest.Step{c.step(0), s.step(1)}
}

func TestConversations(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what  string
		play  func(c, s *peer) []prototest.Step
		want  []string
		codes string
	}{
		{"two streams at once", func(c, s *peer) []prototest.Step {
			c.get(1, "/a")
			c.get(3, "/b")
			st := []prototest.Step{c.step(10)}
			s.headers(3, false, ":status", "200")
			_ = s.f.WriteData(3, true, []byte("b"))
			s.headers(1, false, ":status", "404", "server", "t")
			_ = s.f.WriteData(1, true, []byte("a"))
			return append(st, s.step(20))
		}, []string{"GET /b 200", "GET /a 404 failed"}, "http.client-error"},
		{"gRPC error in trailers", func(c, s *peer) []prototest.Step {
			c.headers(1, false, ":method", "POST", ":scheme", "http", ":authority", "g.test", ":path", "/pkg.S/M", "content-type", "application/grpc")
			_ = c.f.WriteData(1, true, []byte{0, 0, 0, 0, 0})
			st := []prototest.Step{c.step(10)}
			s.headers(1, false, ":status", "200", "content-type", "application/grpc")
			s.headers(1, true, "grpc-status", "14", "grpc-message", "no backend")
			return append(st, s.step(20))
		}, []string{"POST /pkg.S/M grpc UNAVAILABLE failed"}, "grpc.error"},
		{"header block in three frames", func(c, s *peer) []prototest.Step {
			b := c.block(":method", "GET", ":scheme", "https", ":authority", "www.test", ":path", "/long"+strings.Repeat("x", 100))
			_ = c.f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: b[:5], EndStream: true, PadLength: 7})
			_ = c.f.WriteContinuation(1, false, b[5:9])
			_ = c.f.WriteContinuation(1, true, b[9:])
			st := []prototest.Step{c.step(10)}
			s.headers(1, true, ":status", "204")
			return append(st, s.step(20))
		}, []string{"GET /long" + strings.Repeat("x", 100) + " 204"}, ""},
		{"refused stream and goaway", func(c, s *peer) []prototest.Step {
			c.get(1, "/a")
			st := []prototest.Step{c.step(10)}
			_ = s.f.WriteRSTStream(1, http2.ErrCodeRefusedStream)
			_ = s.f.WriteGoAway(1, http2.ErrCodeEnhanceYourCalm, []byte("too_many_pings"))
			return append(st, s.step(20))
		}, []string{"GET /a REFUSED_STREAM failed cut"}, "http2.stream-reset http2.goaway"},
		{"cancelled by the client", func(c, s *peer) []prototest.Step {
			c.get(1, "/a")
			_ = c.f.WriteRSTStream(1, http2.ErrCodeCancel)
			_ = s.f.WriteGoAway(1, http2.ErrCodeNo, nil)
			return []prototest.Step{c.step(10), s.step(20)}
		}, []string{"GET /a CANCEL cut"}, ""},
		{"slow", func(c, s *peer) []prototest.Step {
			c.get(1, "/a")
			st := []prototest.Step{c.step(10)}
			s.headers(1, true, ":status", "200")
			return append(st, s.step(3010))
		}, []string{"GET /a 200"}, "http.slow-response"},
		{"no answer", func(c, _ *peer) []prototest.Step {
			c.get(1, "/a")
			return []prototest.Step{c.step(10)}
		}, []string{"GET /a  failed cut"}, "http.no-response"},
		{"receiver does not read", func(c, s *peer) []prototest.Step {
			c.get(1, "/a")
			st := []prototest.Step{c.step(10)}
			s.headers(1, false, ":status", "200")
			for n := initialWindow; n > 0; n -= 16384 {
				_ = s.f.WriteData(1, false, make([]byte, min(n, 16384)))
			}
			st = append(st, s.step(20))
			_ = c.f.WriteWindowUpdate(0, 100000)
			_ = c.f.WriteWindowUpdate(1, 100000)
			st = append(st, c.step(5020))
			_ = s.f.WriteData(1, true, []byte("end"))
			return append(st, s.step(5030))
		}, []string{"GET /a 200"}, "http2.window-stall http2.window-stall"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			client, server := newPeer(up), newPeer(down)
			steps := append(begin(client, server), c.play(client, server)...)
			got := prototest.Run(t, fresh(), steps, proto.Closed)
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
			if c.what == "receiver does not read" {
				return // 64 KiB cut at every byte takes too long
			}
			prototest.EveryCut(t, fresh, steps)
			prototest.EveryPrefix(t, fresh, steps)
		})
	}
}

// After a lost header block nothing can be named, but streams go on being timed.
func TestBlindAfterGap(t *testing.T) {
	t.Parallel()
	c, s := newPeer(up), newPeer(down)
	steps := begin(c, s)
	c.get(1, "/lost")
	steps = append(steps, prototest.Step{Dir: up, Gap: len(c.step(0).B)})
	s.headers(1, true, ":status", "200")
	steps = append(steps, s.step(5))
	c.get(3, "/after")
	steps = append(steps, c.step(6))
	s.headers(3, true, ":status", "200")
	steps = append(steps, s.step(7))
	got := prototest.Run(t, fresh(), steps, proto.Closed)
	if len(got.Rec.Exchanges) != 1 || got.Rec.Exchanges[0].Label != "stream 3" || !got.Rec.Exchanges[0].Complete || len(got.Rec.Bad) > 0 {
		t.Errorf("exchanges %+v, malformed %v", got.Rec.Exchanges, got.Rec.Bad)
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	s := newPeer(down)
	_ = s.f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
	settings := s.step(0).B
	for _, c := range []struct {
		b    []byte
		want proto.Verdict
	}{
		{[]byte(preface), proto.Certain},
		{[]byte("PRI * HT"), proto.NeedMore},
		{settings, proto.Likely},
		{settings[:4], proto.NeedMore},
		{[]byte("GET / HTTP/1.1\r\n"), proto.No},
		{[]byte{0, 0, 6, 4, 0, 0, 0, 0, 0, 9, 9, 0, 0, 0, 1}, proto.No},
		{make([]byte, 20), proto.No},
	} {
		if got := probe(up, c.b); got != c.want {
			t.Errorf("%q: got %d, want %d", c.b, got, c.want)
		}
	}
}

func FuzzHTTP2(f *testing.F) {
	c, s := newPeer(up), newPeer(down)
	steps := begin(c, s)
	c.get(1, "/a")
	steps = append(steps, c.step(5))
	s.headers(1, false, ":status", "200", "grpc-status", "3")
	_ = s.f.WriteData(1, true, []byte("x"))
	_ = s.f.WriteGoAway(1, 2, []byte("bye"))
	f.Add(prototest.Seed(append(steps, s.step(6))))
	f.Fuzz(func(t *testing.T, b []byte) { prototest.Hostile(t, fresh(), b) })
}

// Each request without an answer is told, and those that were asked first: by them
// is found which was sent again on another connection.
func TestAttempts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what string
		play func(c, s *peer)
		why  proto.End
		want string
	}{
		{"answered", func(_, s *peer) { s.headers(1, true, ":status", "200") }, proto.Closed, "answered"},
		{"refused", func(_, s *peer) { _ = s.f.WriteRSTStream(1, http2.ErrCodeRefusedStream) }, proto.Closed, "lost over reset"},
		{"given up by the client", func(c, _ *peer) { _ = c.f.WriteRSTStream(1, http2.ErrCodeCancel) }, proto.Closed, "lost"},
		{"left behind by GOAWAY", func(_, s *peer) { _ = s.f.WriteGoAway(0, http2.ErrCodeNo, nil) }, proto.Closed, "lost over"},
		{"connection reset", func(_, _ *peer) {}, proto.Reset, "lost over reset"},
		{"cut in the middle of the answer", func(_, s *peer) { s.headers(1, false, ":status", "200") }, proto.Reset, "answered"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			client, server := newPeer(up), newPeer(down)
			steps := begin(client, server)
			client.get(1, "/a")
			steps = append(steps, client.step(10))
			c.play(client, server)
			steps = append(steps, client.step(20), server.step(30))
			var got []string
			for _, e := range prototest.Run(t, fresh(), steps, c.why).Rec.Events {
				x, ok := e.(*web.Attempt)
				if !ok {
					continue
				}
				text := "answered"
				if x.Unanswered {
					text = strings.TrimSpace("lost" + map[bool]string{true: " over"}[x.Over] + map[bool]string{true: " reset"}[x.Reset])
				}
				if x.Unanswered != (x.Target == "/a" && x.Host == "www.test") || x.End-x.Start != 0 || x.Frame == 0 {
					t.Errorf("got %+v", x)
				}
				got = append(got, text)
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Of a connection with many requests only the first are told if they have answers.
func TestFirstAttempts(t *testing.T) {
	t.Parallel()
	client, server := newPeer(up), newPeer(down)
	steps := begin(client, server)
	for id := uint32(1); id < 4*web.FirstStreams; id += 2 {
		client.get(id, "/a")
		server.headers(id, true, ":status", "200")
		steps = append(steps, client.step(10), server.step(20))
	}
	got := prototest.Run(t, fresh(), steps, proto.Closed).Rec
	if len(got.Events) != web.FirstStreams || len(got.Exchanges) != 2*web.FirstStreams {
		t.Errorf("%d attempts, %d exchanges", len(got.Events), len(got.Exchanges))
	}
}
