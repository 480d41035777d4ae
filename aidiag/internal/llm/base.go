package llm

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
)

const (
	schemeHTTP  = "http"
	schemeHTTPS = "https"
)

// Base is a checked base URL.
type Base struct {
	URL   string // without a slash at the end
	Host  string // with port
	Local bool   // loopback, or a private address that was allowed
}

// ParseBase checks and normalises a base URL. private allows plain HTTP to, and
// names that resolve to, private addresses.
func ParseBase(raw string, private bool) (Base, error) {
	u, err := url.Parse(strings.TrimSpace(raw))
	switch {
	case err != nil:
		return Base{}, fmt.Errorf("endpoint %q is not a URL", raw)
	case u.Scheme == "" || u.Host == "" || u.Opaque != "":
		return Base{}, fmt.Errorf("endpoint %q: write it in full, such as https://api.openai.com/v1", raw)
	case u.Scheme != schemeHTTPS && u.Scheme != schemeHTTP:
		return Base{}, fmt.Errorf("endpoint %q: scheme %q is not http or https", raw, u.Scheme)
	case u.User != nil:
		return Base{}, errors.New("endpoint: a user name or password does not belong into the URL; use api_key_env")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return Base{}, fmt.Errorf("endpoint %s://%s%s: leave out what follows ? or #", u.Scheme, u.Host, u.Path)
	}
	path := strings.TrimRight(u.Path, "/")
	for _, suffix := range []string{"/chat/completions", "/completions", "/models"} {
		path = strings.TrimSuffix(path, suffix)
	}
	b := Base{URL: u.Scheme + "://" + u.Host + path, Host: u.Host}
	host := u.Hostname()
	loopback := host == "localhost" || strings.HasSuffix(host, ".localhost")
	if a, err := netip.ParseAddr(host); err == nil {
		if why := forbidden(a, true, true); why != "" {
			return Base{}, fmt.Errorf("endpoint %s: %s", b.URL, why)
		}
		loopback = a.IsLoopback()
		if isPrivate(a) && !private {
			return Base{}, fmt.Errorf("endpoint %s is a private address; set allow_http_private: true for this provider if it is yours", b.URL)
		}
		b.Local = loopback || isPrivate(a)
	}
	b.Local = b.Local || loopback || private
	if u.Scheme == schemeHTTP && !b.Local {
		return Base{}, fmt.Errorf("endpoint %s would send the key in clear text; use https", b.URL)
	}
	return b, nil
}

func isPrivate(a netip.Addr) bool {
	return a.IsPrivate() || netip.MustParsePrefix("100.64.0.0/10").Contains(a.Unmap())
}

// forbidden says why an address may not be dialled, "" if it may.
func forbidden(a netip.Addr, loopback, private bool) string {
	a = a.Unmap()
	switch {
	case a.IsLinkLocalUnicast(), a.IsLinkLocalMulticast():
		return "a link-local address (cloud metadata lives there)"
	case a.IsMulticast(), a.IsUnspecified(), a == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return "not the address of one host"
	case a.IsLoopback() && !loopback:
		return "a cloud provider's name resolves to this machine"
	case isPrivate(a) && !private:
		return "a cloud provider's name resolves to a private address (captive portal or split DNS?)"
	}
	return ""
}

// guard refuses addresses after the name was resolved.
func guard(base Base, private bool) func(addr string) error {
	return func(addr string) error {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return fmt.Errorf("dial %s: %w", addr, err)
		}
		a, err := netip.ParseAddr(host)
		if err != nil {
			return fmt.Errorf("dial %s: %w", addr, err)
		}
		if why := forbidden(a, base.Local, private); why != "" {
			return &GuardError{Addr: host, Why: why}
		}
		if base.Local && !private && !a.IsLoopback() {
			return &GuardError{Addr: host, Why: "a local provider's name resolves to another machine"}
		}
		return nil
	}
}
