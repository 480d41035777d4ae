package redact

import "strings"

// inVocabulary reports whether a text is a word of a protocol and nothing else:
// a short number, or one of the words below. Whoever writes packets can choose
// only among these.
func inVocabulary(s string) bool {
	const longest = 64
	if len(s) > longest {
		return false
	}
	if number(s) {
		return true
	}
	l := strings.ToLower(s)
	if contains(words, l) {
		return true
	}
	if strings.HasPrefix(s, "TLS_") {
		for p := range strings.SplitSeq(s, "_") {
			if !contains(cipherParts, p) {
				return false
			}
		}
		return true
	}
	return false
}

// Allowed reports whether a text may leave as it is.
func Allowed(s string) bool { return s != "" && inVocabulary(s) }

// number: at most five digits, so ports, codes and counts pass and no number
// that could name a person does.
func number(s string) bool {
	if len(s) > 5 {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

func contains(list, word string) bool {
	return !strings.ContainsAny(word, "|") && strings.Contains(list, "|"+word+"|")
}

const cipherParts = "|TLS|WITH|AND|ECDHE|ECDH|DHE|DH|RSA|ECDSA|DSS|PSK|anon|AES|128|256|GCM|CBC|CCM|8|SHA|SHA256|SHA384|MD5|CHACHA20|POLY1305|3DES|EDE|DES|RC4|40|NULL|CAMELLIA|ARIA|SEED|EXPORT|FALLBACK|SCSV|EMPTY|RENEGOTIATION|INFO|KRB5|SRP|"

// words, in lower case between bars.
const words = "|client|server|both|network|resolver|host|none|unknown|middle|yes|no|true|false|" +
	// transport
	"tcp|udp|icmp|icmpv6|sctp|ipv4|ipv6|arp|syn|syn-ack|ack|fin|rst|psh|urg|ece|cwr|fin, ack|rst, ack|syn, ack|psh, ack|open|half|reset|refused|no-answer|idle|" +
	// application protocols
	"dns|mdns|llmnr|tls|dtls|quic|http|http/1.0|http/1.1|http/2|http/3|h2|h2c|h3|websocket|grpc|smtp|submission|imap|pop3|ftp|tftp|ssh|telnet|ntp|snmp|dhcp|dhcpv6|sip|rtp|rtsp|ldap|kerberos|smb|smb2|nfs|rdp|vnc|redis|mysql|postgres|postgresql|pgsql|mongodb|mssql|tds|oracle|cassandra|memcached|kafka|amqp|mqtt|coap|syslog|radius|diameter|bgp|ospf|rip|eigrp|vrrp|hsrp|bfd|stp|lacp|lldp|cdp|gre|vxlan|geneve|mpls|pppoe|l2tp|ipsec|esp|isakmp|openvpn|wireguard|socks|rpc|bacnet|modbus|dnp3|s7comm|iax2|stun|" +
	// DNS
	"a|aaaa|cname|mx|ns|ptr|soa|srv|txt|naptr|ds|rrsig|dnskey|nsec|nsec3|tlsa|https|svcb|caa|any|axfr|ixfr|opt|in|noerror|formerr|servfail|nxdomain|notimp|refused|yxdomain|yxrrset|nxrrset|notauth|notzone|badvers|" +
	// HTTP methods
	"get|head|post|put|delete|options|trace|connect|patch|" +
	// TLS versions and alerts (RFC 8446, 6)
	"ssl 3.0|ssl3|sslv3|tls 1.0|tls 1.1|tls 1.2|tls 1.3|tlsv1.0|tlsv1.1|tlsv1.2|tlsv1.3|tls1.0|tls1.1|tls1.2|tls1.3|dtls 1.0|dtls 1.2|fatal|warning|encrypted|" +
	"close_notify|unexpected_message|bad_record_mac|decryption_failed|record_overflow|decompression_failure|handshake_failure|no_certificate|bad_certificate|unsupported_certificate|certificate_revoked|certificate_expired|certificate_unknown|illegal_parameter|unknown_ca|access_denied|decode_error|decrypt_error|export_restriction|protocol_version|insufficient_security|internal_error|inappropriate_fallback|user_canceled|no_renegotiation|missing_extension|unsupported_extension|certificate_unobtainable|unrecognized_name|bad_certificate_status_response|bad_certificate_hash_value|unknown_psk_identity|certificate_required|no_application_protocol|" +
	// DHCP
	"discover|offer|request|decline|nak|release|inform|" +
	// ICMP
	"echo|echo reply|destination unreachable|network unreachable|host unreachable|protocol unreachable|port unreachable|fragmentation needed|time exceeded|ttl exceeded|redirect|parameter problem|packet too big|admin prohibited|communication administratively prohibited|" +
	// mail, databases, shells
	"helo|ehlo|mail|rcpt|data|quit|auth|starttls|noauth|wrongpass|moved|readonly|loading|oom|busy|clusterdown|misconf|err|"
