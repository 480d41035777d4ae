package llm

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"
)

// Dial opens a connection; tests put a network of their own here.
type Dial = func(ctx context.Context, network, addr string) (net.Conn, error)

// Reach bounds how long it may take until something can be sent.
type Reach struct{ Connect, Handshake time.Duration } // both positive

// Network says how the hosts of one endpoint are reached.
type Network struct {
	Base    Base
	Private bool // allow_http_private
	Reach   Reach
	Roots   *x509.CertPool // nil: the system's
	Proxy   func(*http.Request) (*url.URL, error)
	Dial    Dial // nil: the system's dialer behind the guard
	// Dialled is told of each connection: its own end, or the far end of one that
	// did not come about. nil: nobody.
	Dialled func(local, failed net.Addr)
}

const idleConns = 60 * time.Second

// NewTransport makes the transport of one endpoint. It verifies certificates
// always, speaks TLS 1.2 or newer, and notices dead HTTP/2 connections by ping.
func NewTransport(n Network) *http.Transport {
	dial := n.Dial
	if dial == nil {
		dial = n.guarded
	}
	return &http.Transport{
		Proxy:                  n.Proxy,
		DialContext:            bounded(dial, n.Reach.Connect, n.Dialled),
		TLSHandshakeTimeout:    n.Reach.Handshake,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        idleConns,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: n.Roots},
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
	}
}

// bounded gives a dial its own limit, told apart from the attempt's.
func bounded(dial Dial, limit time.Duration, tell func(local, failed net.Addr)) Dial {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		c, err := dial(ctx, network, addr)
		if tell == nil {
			return c, err
		}
		if err == nil {
			tell(c.LocalAddr(), nil)
		} else if o, ok := errors.AsType[*net.OpError](err); ok && o.Addr != nil {
			tell(nil, o.Addr)
		}
		return c, err
	}
}

// guarded dials and checks the address behind the name. A proxy that the user's
// environment names is reached whatever its address.
func (n Network) guarded(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: n.Reach.Connect}
	if !n.viaProxy(addr) {
		check := guard(n.Base, n.Private)
		d.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error { return check(address) }
	}
	return d.DialContext(ctx, network, addr)
}

func (n Network) viaProxy(addr string) bool {
	if n.Proxy == nil {
		return false
	}
	u, err := url.Parse(n.Base.URL)
	if err != nil {
		return false
	}
	p, err := n.Proxy(&http.Request{URL: u, Header: http.Header{}})
	if err != nil || p == nil {
		return false
	}
	port := p.Port()
	if port == "" {
		port = map[string]string{schemeHTTP: "80", schemeHTTPS: "443", "socks5": "1080"}[p.Scheme]
	}
	return net.JoinHostPort(p.Hostname(), port) == addr
}
