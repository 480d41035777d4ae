package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Limits of what is read of an answer, in bytes, after decompression.
const (
	maxErrorBody = 64 << 10
	maxJSONBody  = 4 << 20
	maxStream    = 16 << 20
	maxAnswer    = 1 << 20 // of the text in a stream: ours are a few KiB
	maxLine      = 1 << 20
	maxHeader    = 64 << 10
)

const (
	headerAuth     = "Authorization"
	headerAzureKey = "api-key"
	typeStream     = "text/event-stream"
	typeJSON       = "application/json"
)

// exchange is what one attempt saw of HTTP, filled by the round tripper. The
// goroutine of the attempt owns it.
type exchange struct {
	watch      *watch
	stream     bool // a stream was asked for
	started    time.Time
	status     int
	requestID  string
	retryAfter time.Duration
	noRetry    bool // x-should-retry: false
	retry      bool // x-should-retry: true
	ttfb       time.Duration
	bytesIn    int64
	errorBody  []byte // of a status of 400 or more, at most maxErrorBody
	fault      error  // what the round tripper or the body ended with
	jsonStream bool   // JSON came where a stream was asked for
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, ok := ctx.Value(exchangeKey{}).(*exchange)
	if !ok {
		return &exchange{}
	}
	return x
}

// roundTripper is the wrapper between go-openai and the network.
type roundTripper struct {
	base   http.RoundTripper
	key    Secret
	azure  bool   // the key goes into api-key
	scheme string // of the only URL the key may be sent to
	host   string
}

// RoundTrip sends one request and bounds and checks its answer.
func (t *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	x := exchangeOf(req.Context())
	if req.URL.Host != t.host || req.URL.Scheme != t.scheme {
		return nil, t.fail(x, &ProtocolError{Reason: "request for another host than the endpoint's"})
	}
	req = req.Clone(req.Context())
	req.Header.Del("Connection") // a hop-by-hop header that go-openai sets and HTTP/2 forbids
	if !t.key.IsZero() {
		if t.azure {
			req.Header.Set(headerAzureKey, t.key.v)
		} else {
			req.Header.Set(headerAuth, "Bearer "+t.key.v)
		}
	}
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, t.fail(x, err)
	}
	x.header(resp)
	if err := t.check(x, resp); err != nil {
		return nil, t.fail(x, err)
	}
	return resp, nil
}

func (*roundTripper) fail(x *exchange, err error) error {
	x.fault = err
	return err
}

func (x *exchange) header(resp *http.Response) {
	if x.watch != nil {
		x.watch.header()
	}
	x.status = resp.StatusCode
	if !x.started.IsZero() {
		x.ttfb = time.Since(x.started)
	}
	for _, h := range []string{"X-Request-Id", "Request-Id", "Apim-Request-Id", "X-Ds-Trace-Id", "Cf-Ray"} {
		if id := resp.Header.Get(h); id != "" {
			x.requestID = Secret{}.scrubID(id)
			break
		}
	}
	x.retryAfter = retryAfter(resp.Header, time.Now())
	should := resp.Header.Get("X-Should-Retry")
	x.noRetry, x.retry = strings.EqualFold(should, "false"), strings.EqualFold(should, "true")
}

// scrubID keeps an id that is one, at most 64 bytes.
func (Secret) scrubID(id string) string {
	id = strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f && r != '"' && r != '\\' {
			return r
		}
		return -1
	}, id)
	return id[:min(len(id), 64)]
}

// retryAfter reads Retry-After-Ms, then Retry-After (seconds or date). 0: none.
// Nonsense and more than a day are cut to a day.
func retryAfter(h http.Header, now time.Time) time.Duration {
	const day = 24 * time.Hour
	if v := h.Get("Retry-After-Ms"); v != "" {
		if ms, err := strconv.ParseFloat(v, 64); err == nil && ms > 0 {
			return time.Duration(min(ms, 1e8)) * time.Millisecond
		}
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		if !(s > 0) {
			return 0
		}
		return min(time.Duration(min(s, 86400)*float64(time.Second)), day)
	}
	if at, err := http.ParseTime(v); err == nil && at.After(now) {
		return min(at.Sub(now), day)
	}
	return 0
}

// check replaces the body by one that is bounded and of the type that was asked
// for, or closes it and says what is wrong.
func (*roundTripper) check(x *exchange, resp *http.Response) error {
	code := resp.StatusCode
	switch {
	case code >= 300 && code < 400:
		closeBody(resp)
		return &RedirectError{Status: code, Host: locationHost(resp)}
	case code >= 400:
		x.errorBody = readSome(x, resp.Body, maxErrorBody)
		if x.requestID == "" {
			x.requestID = bodyRequestID(x.errorBody)
		}
		closeBody(resp)
		resp.Body = io.NopCloser(bytes.NewReader(x.errorBody))
		return nil
	case code != http.StatusOK:
		closeBody(resp)
		return &ProtocolError{Reason: fmt.Sprintf("status %d where an answer was due", code)}
	}
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		kind = ""
	}
	switch {
	case x.stream && (kind == typeStream || kind == "" || kind == "text/plain" || kind == "application/octet-stream"):
		resp.Body = newEventBody(x, resp.Body)
		return nil
	case x.stream && isJSON(kind):
		// One document: an error object, or a server that does not stream.
		doc := readSome(x, resp.Body, maxErrorBody)
		closeBody(resp)
		if e := errorObject(doc, ""); e != nil {
			return e
		}
		x.jsonStream = true
		return &ProtocolError{Reason: "one JSON document where a stream was asked for", JSON: true}
	case !x.stream && (isJSON(kind) || kind == ""):
		resp.Body = &boundedBody{x: x, body: resp.Body, left: maxJSONBody}
		return nil
	}
	closeBody(resp)
	if kind == "" {
		kind = "an unknown type"
	}
	return &ProtocolError{Reason: Secret{}.scrub(kind) + " where an answer of the API was due"}
}

// bodyRequestID finds the id that some providers put into the body of a refusal.
func bodyRequestID(body []byte) string {
	var doc struct {
		ID    jsonText `json:"request_id"`
		Error struct {
			ID jsonText `json:"request_id"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &doc) != nil {
		return ""
	}
	if id := doc.ID.String(); id != "" {
		return Secret{}.scrubID(id)
	}
	return Secret{}.scrubID(doc.Error.ID.String())
}

func isJSON(kind string) bool {
	return kind == typeJSON || strings.HasSuffix(kind, "+json") || kind == "text/json"
}

func locationHost(resp *http.Response) string {
	u, err := url.Parse(resp.Header.Get("Location"))
	if err != nil {
		return ""
	}
	return Secret{}.scrub(u.Host)
}

// readSome reads at most n bytes and ends cleanly whatever happens, so that the
// status survives a reset inside the error body.
func readSome(x *exchange, r io.Reader, n int) []byte {
	var b bytes.Buffer
	buf := make([]byte, 4096)
	for b.Len() < n {
		k, err := r.Read(buf[:min(len(buf), n-b.Len())])
		b.Write(buf[:k])
		x.bytesIn += int64(k)
		if x.watch != nil && k > 0 {
			x.watch.bytes()
		}
		if err != nil {
			break
		}
	}
	return b.Bytes()
}

func closeBody(resp *http.Response) {
	if err := resp.Body.Close(); err != nil {
		return // nothing more can be done with this connection, nor need be
	}
}

// boundedBody is a JSON body with a limit.
type boundedBody struct {
	x    *exchange
	body io.ReadCloser
	left int
}

// Read reads until the limit, which is an error.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		err := &BodyLimitError{What: "the JSON answer", Limit: maxJSONBody}
		b.x.fault = err
		return 0, err
	}
	n, err := b.body.Read(p[:min(len(p), b.left)])
	b.left -= n
	b.x.bytesIn += int64(n)
	if n > 0 && b.x.watch != nil {
		b.x.watch.bytes()
		b.x.watch.event()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.x.fault = err
	}
	return n, err
}

// Close closes the connection's body.
func (b *boundedBody) Close() error { return b.body.Close() }
