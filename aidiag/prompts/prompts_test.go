package prompts_test

import (
	"strings"
	"testing"

	"netwhy/aidiag/prompts"
)

// contract is the list of causes of the report.
const contract = `tcp-packet-loss tcp-reordering high-latency-path bufferbloat bandwidth-limited receiver-zero-window small-receive-window
slow-server-application slow-client-application connection-refused connection-timeout-no-answer firewall-reject firewall-reset-injection
server-abort client-abort half-open-connection idle-timeout-by-middlebox syn-flood port-scan pmtu-black-hole mtu-frag-needed icmp-host-unreachable
icmp-port-unreachable routing-loop-ttl-exceeded asymmetric-capture duplicate-ip-address arp-spoofing arp-no-answer gateway-down dns-nxdomain-burst
dns-servfail dns-refused dns-timeout dns-slow dns-truncation-tcp-blocked dns-spoofing dhcp-no-offer dhcp-nak dhcp-rogue-server tls-certificate-expired
tls-unknown-ca tls-version-mismatch tls-handshake-stalled tls-sni-unrecognized http-5xx http-4xx-auth http-slow-response http-redirect-loop
checksum-corruption duplicate-packets broadcast-storm ipv6-unreachable-fallback ntp-unsynchronized smtp-rejected ssh-auth-bruteforce
database-auth-failed redis-error`

func TestEveryCauseHasKnowledge(t *testing.T) {
	t.Parallel()
	s, err := prompts.Load()
	if err != nil {
		t.Fatal(err)
	}
	for c := range strings.FieldsSeq(contract) {
		k := s.Knowledge(0, c)
		if !s.Known(c) || len(k) < 120 || len(k) > 800 || !strings.HasPrefix(k, "- "+c+": ") {
			t.Errorf("%s: %d bytes", c, len(k))
		}
	}
	if s.Known("other") || s.Known("system.tmpl") || s.Known("") || s.Known("payroll-slow") {
		t.Error("knows what it must not")
	}
	if k := s.Knowledge(100, "payroll-slow"); strings.Contains(k, "payroll") || k == "" {
		t.Errorf("got %q", k)
	}
	if s.Version() == "" {
		t.Error("no version")
	}
}

func TestCompose(t *testing.T) {
	t.Parallel()
	s, err := prompts.Load()
	if err != nil {
		t.Fatal(err)
	}
	n := prompts.Nonce()
	p, err := s.Compose(prompts.Fill{
		Nonce: n, Language: "English", Causes: strings.Join(s.Causes(), " "), Knowledge: s.Knowledge(500, "tcp-packet-loss", "tcp-reordering"), Evidence: `{"a":"<&>"}`,
	})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(p.User, n) != 2 || strings.Count(p.System, n) != 1 || !strings.Contains(p.User, `{"a":"<&>"}`) || !strings.Contains(p.System, "JSON") || n == prompts.Nonce() {
		t.Errorf("%s\n%s", p.System, p.User)
	}
}
