package prototest_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"netwhy/analyze"
	"netwhy/analyze/conn"
	"netwhy/analyze/proto"
	"netwhy/capture"
	"netwhy/capture/packet"
)

// tap records what a connection carries as TCP segments in Ethernet frames.
type tap struct {
	net.Conn
	mu    *sync.Mutex
	wire  *[][]byte
	seq   *[2]uint32
	first *sync.Once
}

func (t tap) Write(b []byte) (int, error) {
	t.segment(0, b)
	return t.Conn.Write(b)
}

func (t tap) Read(b []byte) (int, error) {
	n, err := t.Conn.Read(b)
	if n > 0 {
		t.segment(1, b[:n])
	}
	return n, err
}

// segment appends a segment of the client (0) or the server (1).
func (t tap) segment(from int, b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.first.Do(func() {
		t.frame(0, 0x02, nil)
		t.frame(1, 0x12, nil)
		t.frame(0, 0x10, nil)
	})
	for len(b) > 0 {
		n := min(len(b), 1400)
		t.frame(from, 0x18, b[:n])
		b = b[n:]
	}
}

func (t tap) frame(from int, flags byte, b []byte) {
	ips, ports := [2][4]byte{{192, 0, 2, 1}, {198, 51, 100, 1}}, [2]uint16{40000, 443}
	f := make([]byte, 54, 54+len(b))
	f[12] = 8
	f[14] = 0x45
	binary.BigEndian.PutUint16(f[16:], uint16(40+len(b)))
	f[22], f[23] = 64, 6
	copy(f[26:], ips[from][:])
	copy(f[30:], ips[1-from][:])
	binary.BigEndian.PutUint16(f[34:], ports[from])
	binary.BigEndian.PutUint16(f[36:], ports[1-from])
	binary.BigEndian.PutUint32(f[38:], t.seq[from])
	binary.BigEndian.PutUint32(f[42:], t.seq[1-from])
	f[46], f[47] = 0x50, flags
	f[48] = 0xff
	if flags&2 != 0 {
		t.seq[from]++
	}
	t.seq[from] += uint32(len(b))
	*t.wire = append(*t.wire, append(f, b...))
}

// frames is an analyze.Source.
type frames struct {
	pool *packet.Pool
	left [][]byte
	link packet.LinkType // 0: Ethernet
	step int64           // ns between two; 0: a millisecond
	snap int             // bytes captured of each; 0: all
	n    uint64
}

func (f *frames) Next(ctx context.Context) (*packet.Batch, error) {
	if len(f.left) == 0 {
		return nil, io.EOF
	}
	b, err := f.pool.Get(ctx)
	if err != nil {
		return nil, err
	}
	link := f.link
	if link == 0 {
		link = packet.LinkEthernet
	}
	step := max(f.step, int64(time.Millisecond))
	for len(f.left) > 0 {
		d := packet.Frame{Number: f.n + 1, Time: int64(f.n+1) * step, Link: link, WireLen: uint32(len(f.left[0]))}
		raw := f.left[0]
		if f.snap > 0 {
			raw = raw[:min(len(raw), f.snap)]
		}
		if !b.Append(d, raw) {
			break
		}
		f.left, f.n = f.left[1:], f.n+1
	}
	return b, nil
}

// A real server and client, a key log, and the answer 503 inside TLS.
func TestReadsHTTPInsideTLS(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what    string
		version uint16
		h2      bool
		app     string
	}{
		{"HTTP/1.1 in TLS 1.2", tls.VersionTLS12, false, "http"},
		{"HTTP/1.1 in TLS 1.3", tls.VersionTLS13, false, "http"},
		{"HTTP/2 in TLS 1.3", tls.VersionTLS13, true, "http2"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			wire, log := visit(t, c.version, c.h2)
			for _, secrets := range [][]byte{log, nil} {
				r, err := analyze.Run(t.Context(), &frames{pool: packet.NewPool(4, 1<<16), left: wire}, analyze.Options{Workers: 2, Secrets: secrets}, nil)
				if err != nil {
					t.Fatal(err)
				}
				app, code := "tls", ""
				if secrets != nil {
					app, code = c.app, "http.server-error"
				}
				found := ""
				for _, f := range r.Findings {
					if strings.HasPrefix(string(f.Code), "http") {
						found = string(f.Code)
					}
				}
				if len(r.Connections) == 0 || r.Connections[0].App != app || found != code || len(r.Malformed) > 0 {
					t.Errorf("secrets %v: app %q, found %q, malformed %v", secrets != nil, apps(r.Connections), found, r.Malformed)
				}
				if secrets != nil && !c.h2 && r.Keyed[proto.HTTPStatus]["503"] != 1 {
					t.Errorf("statuses %v", r.Keyed[proto.HTTPStatus])
				}
			}
		})
	}
}

func apps(list []*conn.Summary) string {
	names := make([]string, 0, len(list))
	for i := range list {
		names = append(names, list[i].App)
	}
	return strings.Join(names, " ")
}

// visit asks a server once and returns the frames and the key log.
func visit(t *testing.T, version uint16, h2 bool) (wire [][]byte, log []byte) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	server.EnableHTTP2 = h2
	server.StartTLS()
	defer server.Close()
	var secrets bytes.Buffer
	transport, ok := server.Client().Transport.(*http.Transport)
	if !ok {
		t.Fatal("the test server's client has another transport")
	}
	transport.TLSClientConfig.KeyLogWriter = &secrets
	transport.TLSClientConfig.MaxVersion = version
	var mu sync.Mutex
	seq := [2]uint32{1000, 5000}
	dialer := &net.Dialer{}
	transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dialer.DialContext(ctx, network, addr)
		return tap{c, &mu, &wire, &seq, &sync.Once{}}, err
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/orders", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	transport.CloseIdleConnections()
	mu.Lock()
	defer mu.Unlock()
	return wire, secrets.Bytes()
}

// OpenSSL on both sides, DTLS 1.2 with AES-GCM: one line, then close_notify.
func TestReadsDTLS(t *testing.T) {
	t.Parallel()
	name := filepath.Join("..", "dtls", "testdata", "dtls12")
	log, err := os.ReadFile(name + ".keys")
	if err != nil {
		t.Fatal(err)
	}
	for _, secrets := range [][]byte{log, nil} {
		src, err := capture.Open(t.Context(), []string{name + ".pcap"}, capture.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := analyze.Run(t.Context(), src, analyze.Options{Workers: 2, Secrets: secrets}, nil)
		src.Close()
		if err != nil || len(r.Connections) != 1 || len(r.Malformed) > 0 {
			t.Fatalf("connections %q, malformed %v: %v", apps(r.Connections), r.Malformed, err)
		}
		c := r.Connections[0]
		if read := c.Attr["tls.decrypted"] == "yes"; c.App != "dtls" || read != (secrets != nil) || c.FailedExchanges != 0 || c.Exchanges == 0 {
			t.Errorf("secrets %v: app %s, facts %v", secrets != nil, c.App, c.Attr)
		}
	}
}

// The secrets are in the capture: QUIC version 2 with HTTP/3, whose first page is
// asked for in 0-RTT, and whose second page is not there.
func TestReadsHTTP3(t *testing.T) {
	t.Parallel()
	r := replay(t, filepath.Join(corpus(t), "quic-v2.pcapng"))
	if len(r.Connections) != 1 || r.Connections[0].App != "http3" || r.Connections[0].FailedExchanges != 1 || r.Protocols["http3"] != 8 || len(r.Malformed) > 0 {
		t.Errorf("connections %q, protocols %v, malformed %v", apps(r.Connections), r.Protocols, r.Malformed)
	}
}
