package answer

import (
	"slices"
	"strings"
)

// Filter says why a text is not a display filter (Wireshark's syntax), "" if it
// is one: comparisons and fields of known protocols, joined by and, or, not.
func Filter(s string) string {
	p := filterParser{words: filterWords(s)}
	if p.words == nil || len(p.words) > maxFilterWords {
		return "not a display filter"
	}
	if !p.or(0) || p.at != len(p.words) {
		return "not a display filter"
	}
	return ""
}

const (
	maxFilterWords = 64
	maxFilterDepth = 16
)

type filterParser struct {
	words []string
	at    int
}

func (p *filterParser) peek() string {
	if p.at < len(p.words) {
		return p.words[p.at]
	}
	return ""
}

func (p *filterParser) take(words ...string) bool {
	if slices.Contains(words, p.peek()) && p.peek() != "" {
		p.at++
		return true
	}
	return false
}

func (p *filterParser) or(depth int) bool {
	if depth > maxFilterDepth || !p.not(depth) {
		return false
	}
	for p.take("and", "or", "&&", "||", "xor", "^^") {
		if !p.not(depth) {
			return false
		}
	}
	return true
}

func (p *filterParser) not(depth int) bool {
	for range maxFilterDepth {
		if !p.take("not", "!") {
			break
		}
	}
	if p.take("(") {
		return p.or(depth+1) && p.take(")")
	}
	return p.test()
}

// test is a field, possibly compared with a value or a set of values.
func (p *filterParser) test() bool {
	if !isField(p.peek()) {
		return false
	}
	p.at++
	switch {
	case p.take("==", "!=", ">", "<", ">=", "<=", "eq", "ne", "gt", "lt", "ge", "le", "contains", "matches", "~"):
		return p.value()
	case p.take("in"):
		if !p.take("{") {
			return false
		}
		for !p.take("}") {
			if !p.value() {
				return false
			}
			p.take(",")
		}
	}
	return true
}

func (p *filterParser) value() bool {
	w := p.peek()
	if w == "" || strings.ContainsAny(w, "(){},") && w[0] != '"' || slices.Contains([]string{"and", "or", "not", "==", "!"}, w) {
		return false
	}
	p.at++
	return true
}

// isField: a protocol that we know, and names behind it.
func isField(w string) bool {
	proto, rest, _ := strings.Cut(w, ".")
	if !slices.Contains([]string{
		"frame", "eth", "vlan", "arp", "ip", "ipv6", "icmp", "icmpv6", "tcp", "udp", "sctp", "dns", "mdns", "tls", "dtls", "quic", "http", "http2",
		"dhcp", "dhcpv6", "ntp", "smtp", "ftp", "ssh", "pgsql", "mysql", "redis", "mongo", "ldap", "kerberos", "smb", "smb2", "sip", "rtp", "snmp",
		"stp", "lacp", "bgp", "ospf", "vrrp", "hsrp", "bfd", "gre", "vxlan", "mqtt", "amqp", "imap", "pop", "radius", "x509sat", "x509ce", "x509af", "tds", "wlan", "_ws",
	}, proto) {
		return false
	}
	for _, r := range rest {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '.' && r != '-' {
			return false
		}
	}
	return true
}

// filterWords cuts a filter into words; nil when it holds what no filter does.
func filterWords(s string) []string {
	var words []string
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == ' ':
			i++
		case c == '"':
			j := strings.IndexByte(s[i+1:], '"')
			if j < 0 {
				return nil
			}
			words = append(words, s[i:i+j+2])
			i += j + 2
		case strings.ContainsRune("(){},~", rune(c)):
			words = append(words, string(c))
			i++
		case strings.ContainsRune("=!<>&|^", rune(c)):
			j := i + 1
			for j < len(s) && j < i+2 && strings.ContainsRune("=&|^", rune(s[j])) {
				j++
			}
			words = append(words, s[i:j])
			i = j
		default:
			j := i
			for j < len(s) && wordByte(s[j]) {
				j++
			}
			if j == i {
				return nil
			}
			words = append(words, s[i:j])
			i = j
		}
	}
	return words
}

func wordByte(c byte) bool {
	return isLetter(c) || c >= '0' && c <= '9' || strings.IndexByte("._-:/[]", c) >= 0
}
