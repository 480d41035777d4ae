package tls

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"maps"
	"math/big"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/prototest"
)

const (
	up   = flow.ToServer
	down = flow.ToClient
)

// tape records what both ends of a real connection wrote, in order.
type tape struct {
	mu    sync.Mutex
	steps []prototest.Step
}

type end struct {
	net.Conn
	t   *tape
	dir flow.Dir
}

func (e end) Write(b []byte) (int, error) {
	e.t.mu.Lock()
	at := time.Duration(len(e.t.steps)) * time.Millisecond
	e.t.steps = append(e.t.steps, prototest.Step{Dir: e.dir, At: at, B: bytes.Clone(b)})
	e.t.mu.Unlock()
	return e.Conn.Write(b)
}

// authority is a CA and a certificate for example.test.
func certificate(tb testing.TB, key any, edit func(*x509.Certificate)) tls.Certificate {
	tb.Helper()
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	start := time.Unix(0, prototest.Epoch).Add(-24 * time.Hour)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test CA"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: start, NotAfter: start.Add(1000 * time.Hour),
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "example.test"}, DNSNames: []string{"example.test"},
		NotBefore: start, NotAfter: start.Add(1000 * time.Hour),
	}
	if edit != nil {
		edit(leaf)
	}
	parent, signer := ca, any(caKey)
	if leaf.Subject.CommonName == "self.test" {
		parent, signer = leaf, key
	}

	var pub any
	switch k := key.(type) {
	case *ecdsa.PrivateKey:
		pub = &k.PublicKey
	case *rsa.PrivateKey:
		pub = &k.PublicKey
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, parent, pub, signer)
	if err != nil {
		tb.Fatal(err)
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	if err != nil {
		tb.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der, caDER}, PrivateKey: key}
}

func ecKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// talk makes a real connection and returns its bytes and key log.
func talk(tb testing.TB, client, server *tls.Config, say func(client, server *tls.Conn)) ([]prototest.Step, map[string][]byte) {
	tb.Helper()
	var log bytes.Buffer
	client.KeyLogWriter = &log
	client.Time = func() time.Time { return time.Unix(0, prototest.Epoch) }
	server.Time = client.Time
	if client.ServerName == "" {
		client.ServerName = "example.test"
	}
	t := &tape{}
	// Buffered, unlike net.Pipe: a fatal alert is written while the other side writes too.
	a, b := tcpPair(tb)
	defer a.Close()
	defer b.Close()
	c, s := tls.Client(end{a, t, up}, client), tls.Server(end{b, t, down}, server)
	var wg sync.WaitGroup
	wg.Go(func() {
		if s.HandshakeContext(tb.Context()) != nil {
			b.Close()
		}
	})
	if c.HandshakeContext(tb.Context()) != nil {
		a.Close()
	}
	wg.Wait()
	if say != nil {
		say(c, s)
	}
	return t.steps, keyLog(log.Bytes())
}

func tcpPair(tb testing.TB) (a, b net.Conn) {
	tb.Helper()
	l, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	done := make(chan error, 1)
	go func() {
		var err error
		b, err = l.Accept()
		done <- err
	}()
	if a, err = new(net.Dialer).DialContext(tb.Context(), "tcp", l.Addr().String()); err != nil {
		tb.Fatal(err)
	}
	if err := <-done; err != nil {
		tb.Fatal(err)
	}
	return a, b
}

func keyLog(text []byte) map[string][]byte {
	out := map[string][]byte{}
	for sc := bufio.NewScanner(bytes.NewReader(text)); sc.Scan(); {
		f := strings.Fields(sc.Text())
		if len(f) == 3 {
			secret := make([]byte, len(f[2])/2)
			for i := range secret {
				secret[i] = unhex(f[2][2*i])<<4 | unhex(f[2][2*i+1])
			}
			out[f[0]+" "+f[1]] = secret
		}
	}
	return out
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c - 'a' + 10
}

func fresh() *prototest.Conversation { return prototest.New(Spec(), proto.TCP, 443) }

func hello(c, s *tls.Conn) {
	_, _ = c.Write([]byte("ping from the client"))
	_, _ = io.ReadFull(s, make([]byte, 20))
	_, _ = s.Write([]byte("pong from the server"))
	_, _ = io.ReadFull(c, make([]byte, 20))
	_ = c.Close()
	_ = s.Close()
}

func trusting() *tls.Config { return &tls.Config{InsecureSkipVerify: true} }

func TestDecryptsWhatTheStandardLibrarySends(t *testing.T) {
	t.Parallel()
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what    string
		version uint16
		suite   uint16
		rsa     bool
	}{
		{"TLS 1.3", tls.VersionTLS13, 0, false},
		{"TLS 1.2 AES-128-GCM", tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, false},
		{"TLS 1.2 AES-256-GCM", tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, false},
		{"TLS 1.2 ChaCha20", tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, false},
		{"TLS 1.2 AES-CBC SHA-1", tls.VersionTLS12, tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, true},
		{"TLS 1.2 AES-CBC SHA-256", tls.VersionTLS12, tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256, true},
		{"TLS 1.1 AES-CBC", tls.VersionTLS11, tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA, true},
		{"TLS 1.0 AES-CBC", tls.VersionTLS10, tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			key := any(ecKey(t))
			if c.rsa {
				key = rsaKey
			}
			config := trusting()
			config.MinVersion, config.MaxVersion = c.version, c.version
			if c.suite != 0 {
				config.CipherSuites = []uint16{c.suite}
			}
			server := &tls.Config{Certificates: []tls.Certificate{certificate(t, key, nil)}, MinVersion: tls.VersionTLS10}
			if c.suite != 0 {
				server.CipherSuites = []uint16{c.suite}
			}
			steps, secrets := talk(t, config, server, hello)
			withKeys := func() *prototest.Conversation {
				g := fresh()
				g.Rec.Secrets = secrets
				return g
			}
			got := prototest.Run(t, withKeys(), steps, proto.Closed)
			if string(got.InnerBytes[up]) != "ping from the client" || string(got.InnerBytes[down]) != "pong from the server" {
				t.Errorf("inside: %q and %q", got.InnerBytes[up], got.InnerBytes[down])
			}
			if len(got.Rec.Bad) > 0 || got.Facts.Attrs()["tls.version"] == "" || got.Facts.Attrs()["tls.certificate.subject"] != "example.test" {
				t.Errorf("malformed %v, facts %v", got.Rec.Bad, got.Facts.Attrs())
			}
			if n := got.Rec.Counts[proto.TLSAlert]["0"]; n == 0 {
				t.Errorf("close_notify was not read: %v", got.Rec.Counts[proto.TLSAlert])
			}
			if c.version == tls.VersionTLS13 || c.suite == tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 {
				// The other suites differ in single records only.
				prototest.EveryCut(t, withKeys, steps)
				prototest.EveryCut(t, fresh, steps) // without keys
				prototest.EveryPrefix(t, withKeys, steps)
			}
			// A record is lost: the rest is still decrypted (not with TLS 1.0,
			// whose records are chained).
			if c.version == tls.VersionTLS10 {
				return
			}
			lossy := slices.Clone(steps)
			for i := range lossy {
				if lossy[i].Dir == up && i == firstData(steps) {
					lossy[i] = prototest.Step{Dir: up, At: lossy[i].At, Gap: len(lossy[i].B)}
				}
			}
			g := prototest.Run(t, withKeys(), lossy, proto.Closed)
			if string(g.InnerBytes[down]) != "pong from the server" || g.InnerLost[up] == 0 && len(g.InnerBytes[up]) == 0 {
				t.Errorf("after a gap: %q, lost %v", g.InnerBytes[down], g.InnerLost)
			}
		})
	}
}

// firstData is the step that carries the ping: the last of the client but the
// close_notify.
func firstData(steps []prototest.Step) int {
	var ups []int
	for i, s := range steps {
		if s.Dir == up {
			ups = append(ups, i)
		}
	}
	return ups[len(ups)-2]
}

func TestHandshakeFacts(t *testing.T) {
	t.Parallel()
	client := trusting()
	client.NextProtos = []string{"h2", "http/1.1"}
	server := &tls.Config{Certificates: []tls.Certificate{certificate(t, ecKey(t), nil)}, NextProtos: []string{"h2"}}
	steps, _ := talk(t, client, server, hello)
	c := prototest.Run(t, fresh(), steps, proto.Closed)
	a := c.Facts.Attrs()
	if c.Facts.Name != "example.test" || a["tls.version"] != "TLS 1.3" || a["tls.alpn.offered"] != "h2,http/1.1" ||
		!strings.HasPrefix(a["tls.ja4"], "t13d") || !strings.Contains(a["tls.ja4"], "h2_") || len(a["tls.ja3"]) != 32 || len(a["tls.ja3s"]) != 32 {
		t.Errorf("facts: %v", a)
	}
	if len(c.Rec.Exchanges) != 1 || c.Rec.Exchanges[0].Failed || !c.Rec.Exchanges[0].Complete || c.Rec.Exchanges[0].RespEnd <= c.Rec.Exchanges[0].ReqStart {
		t.Errorf("exchanges: %+v", c.Rec.Exchanges)
	}
	if len(c.Rec.Reports) != 0 {
		t.Errorf("a healthy handshake reports %v", c.Rec.Codes())
	}
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	old := func() *tls.Config {
		c := trusting()
		c.MaxVersion = tls.VersionTLS12
		return c
	}
	for _, c := range []struct {
		what string
		edit func(*x509.Certificate)
		want string
	}{
		{"good", nil, ""},
		{"expired", func(x *x509.Certificate) { x.NotAfter = time.Unix(0, prototest.Epoch).Add(-time.Hour) }, "tls.certificate-expired"},
		{"not yet valid", func(x *x509.Certificate) { x.NotBefore = time.Unix(0, prototest.Epoch).Add(time.Hour) }, "tls.certificate-not-yet-valid"},
		{"another name", func(x *x509.Certificate) { x.DNSNames = []string{"other.test"} }, "tls.certificate-name-mismatch"},
		{"wildcard", func(x *x509.Certificate) { x.DNSNames = []string{"*.test"} }, ""},
		{"self-signed", func(x *x509.Certificate) { x.Subject.CommonName = "self.test" }, "tls.certificate-self-signed"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			cert := certificate(t, ecKey(t), c.edit)
			if c.want == "tls.certificate-self-signed" {
				cert.Certificate = cert.Certificate[:1]
			}
			steps, _ := talk(t, old(), &tls.Config{Certificates: []tls.Certificate{cert}}, hello)
			got := prototest.Run(t, fresh(), steps, proto.Closed).Rec
			if strings.Join(got.Codes(), " ") != c.want {
				t.Errorf("got %v, want %q", got.Codes(), c.want)
			}
			if r := got.Find("tls.certificate-expired"); r != nil && (r.Num("expired_seconds") < 3600 || r.Num("expired_seconds") > 3610) {
				t.Errorf("expired for %v s, want 3600", r.Num("expired_seconds"))
			}
		})
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	cert := certificate(t, ecKey(t), nil)
	server := func(edit func(*tls.Config)) *tls.Config {
		c := &tls.Config{Certificates: []tls.Certificate{cert}}
		if edit != nil {
			edit(c)
		}
		return c
	}
	for _, c := range []struct {
		what   string
		client *tls.Config
		server *tls.Config
		code   string
		alert  float64
		from   float64
	}{
		{"unknown issuer", &tls.Config{MaxVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}, server(nil), "tls.fatal-alert", 42, 0},
		{
			"no common version", &tls.Config{MaxVersion: tls.VersionTLS12, InsecureSkipVerify: true},
			server(func(c *tls.Config) { c.MinVersion = tls.VersionTLS13 }), "tls.fatal-alert", 70, 1,
		},
		{
			"no common protocol", &tls.Config{NextProtos: []string{"x"}, InsecureSkipVerify: true},
			server(func(c *tls.Config) { c.NextProtos = []string{"y"} }), "tls.fatal-alert", 120, 1,
		},
		{"refused in TLS 1.3", &tls.Config{RootCAs: x509.NewCertPool()}, server(nil), "tls.encrypted-alert", 0, 0},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			steps, _ := talk(t, c.client, c.server, nil)
			got := prototest.Run(t, fresh(), steps, proto.Closed).Rec
			if strings.Join(got.Codes(), " ") != c.code {
				t.Fatalf("got %v, want %q", got.Codes(), c.code)
			}
			r := &got.Reports[0]
			if r.Num("alert") != c.alert || r.Num("from_server") != c.from || r.Num("during_handshake") != 1 {
				t.Errorf("got %s", r)
			}
			if len(got.Exchanges) != 1 || !got.Exchanges[0].Failed {
				t.Errorf("exchanges: %+v", got.Exchanges)
			}
		})
	}
}

// wget and others check the certificate last, and close without a word.
func TestClosedAfterHandshake(t *testing.T) {
	t.Parallel()
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		client := trusting()
		client.MaxVersion = version
		steps, _ := talk(t, client, &tls.Config{Certificates: []tls.Certificate{certificate(t, ecKey(t), nil)}},
			func(c, _ *tls.Conn) { _ = c.Close() })
		c := prototest.Run(t, fresh(), steps, proto.Closed)
		r := c.Rec.Find("tls.closed-after-handshake")
		if r == nil || len(c.Rec.Reports) != 1 || r.Text("sni") != "example.test" {
			t.Errorf("%x: got %v", version, c.Rec.Codes())
		}
		if version == tls.VersionTLS12 && r != nil && r.Text("issuer") != "Test CA" {
			t.Errorf("issuer %q", r.Text("issuer"))
		}
	}
}

// Only the client's direction: no stall.
func TestOneDirectionCaptured(t *testing.T) {
	t.Parallel()
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		client := trusting()
		client.MaxVersion = version
		steps, _ := talk(t, client, &tls.Config{Certificates: []tls.Certificate{certificate(t, ecKey(t), nil)}}, hello)
		c := fresh()
		for i, s := range steps {
			if s.Dir == up {
				c.Send(up, time.Duration(i)*time.Second, s.B)
			}
		}
		c.End(time.Minute, proto.Closed)
		if len(c.Rec.Reports) > 0 {
			t.Errorf("%x: reported %v", version, c.Rec.Codes())
		}
	}
}

func TestStalls(t *testing.T) {
	t.Parallel()
	steps, _ := talk(t, trusting(), &tls.Config{Certificates: []tls.Certificate{certificate(t, ecKey(t), nil)}}, nil)
	clientHello := steps[0].B
	for _, c := range []struct {
		what   string
		after  time.Duration
		why    proto.End
		answer []byte
		want   string
	}{
		{"no answer", 10 * time.Second, proto.Closed, nil, "tls.handshake-stalled"},
		{"reset at once", time.Millisecond, proto.Reset, nil, "tls.handshake-cut"},
		{"capture ends", time.Millisecond, proto.Over, nil, ""},
		{"half an answer", 10 * time.Second, proto.Over, steps[1].B[:200], "tls.handshake-stalled"},
		{"plain HTTP", 0, proto.Closed, []byte("HTTP/1.1 400 Bad Request\r\n\r\n"), "tls.not-tls-answer"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			g := fresh()
			g.Send(up, 0, clientHello)
			if c.answer != nil {
				g.Send(down, 5*time.Millisecond, c.answer)
			}
			g.End(c.after, c.why)
			if got := strings.Join(g.Rec.Codes(), " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestResumption(t *testing.T) {
	t.Parallel()
	server := &tls.Config{Certificates: []tls.Certificate{certificate(t, ecKey(t), nil)}}
	for version, want := range map[uint16]string{tls.VersionTLS12: "session", tls.VersionTLS13: "psk"} {
		client := trusting()
		client.MaxVersion = version
		client.ClientSessionCache = tls.NewLRUClientSessionCache(1)
		talk(t, client, server, hello)
		steps, _ := talk(t, client, server, hello)
		c := prototest.Run(t, fresh(), steps, proto.Closed)
		if c.Facts.Attrs()["tls.resumed"] != want || len(c.Rec.Reports) > 0 {
			t.Errorf("%x: resumed by %q, want %q; %v", version, c.Facts.Attrs()["tls.resumed"], want, c.Rec.Codes())
		}
	}
}

func TestOldHello(t *testing.T) {
	t.Parallel()
	b := []byte{0x80, 0x2e, 1, 3, 1, 0, 0x15, 0, 0, 0, 0x10, 0, 0, 4, 0, 0, 5, 0, 0, 0x0a, 1, 0, 0x80, 7, 0, 0xc0, 3, 0, 0x80, 0, 0, 9}
	b = append(b, make([]byte, 48-len(b))...)
	if v := probe(up, b); v != proto.Likely {
		t.Errorf("probe: %d", v)
	}
	c := fresh()
	c.Send(up, 0, b)
	if c.Facts.Attrs()["tls.version.offered"] != "TLS 1.0" || len(c.Unused(up)) != 0 {
		t.Errorf("facts %v, unused %d", c.Facts.Attrs(), len(c.Unused(up)))
	}
}

// The seeds are conversations recorded once (fuzzing needs the same ones in
// every process), as prototest.Seed writes them, with their key logs.
func FuzzTLS(f *testing.F) {
	secrets := map[string][]byte{}
	for _, name := range []string{"tls12", "tls13"} {
		seed, err := os.ReadFile("testdata/" + name + ".seed")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(seed)
		log, err := os.ReadFile("testdata/" + name + ".keys")
		if err != nil {
			f.Fatal(err)
		}
		maps.Copy(secrets, keyLog(log))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c := fresh()
		c.Rec.Secrets = secrets
		prototest.Hostile(t, c, b)
	})
}
