package text

import "strings"

// spoken is what people call a protocol that counters name as tshark does; empty: they
// do not speak of it. Carriers say nothing of what was looked at, and neither do the
// steps in which tshark reads a message: a certificate's fields, a page's format.
func spoken(name string) string {
	switch name {
	case "eth", "ip", "ipv6", "sll", "null", "raw", "llc", "frame", "ethertype", "data", // carriers
		"radiotap", "prism", "ppi", "pktap", "nflog", "pflog", "wlan_radio", // what a capture adds
		"logotypecertextn", "ns_cert_exts", "cms", "ber", "gss-api", "spnego", "spnego-krb5", "ntlmssp", // inside TLS and logins
		"data-text-lines", "media", "mime_multipart", "urlencoded-form", "json", "xml", "png", "imf", "sdp", // inside messages
		"nbss", "mbtcp", "tpkt", "cotp", "slow", "udpencap", "mpeg_sect", "mpeg_pat", "mpeg_pmt", "mpeg-pes": // around what is named itself
		return ""
	case "cql":
		return "cassandra"
	case "isakmp":
		return "ike"
	case "mongo":
		return "mongodb"
	case "mp2t":
		return "mpeg-ts"
	case "pgsql":
		return "postgresql"
	case "pn_rt":
		return "profinet"
	case "pop":
		return "pop3"
	case "pppoed", "pppoes":
		return "pppoe"
	case "resp":
		return "redis"
	case "tacplus":
		return "tacacs+"
	case "tds":
		return "sql server"
	case "tns":
		return "oracle"
	case "wg":
		return "wireguard"
	}
	for _, part := range []string{"x509", "pkix1", "pkcs", "image-"} {
		if strings.HasPrefix(name, part) {
			return ""
		}
	}
	if strings.Contains(name, ".") { // a header or kind of message of what stands before the dot
		return ""
	}
	return name
}
