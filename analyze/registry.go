package analyze

import (
	"netwhy/analyze/correlate"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/arp"
	"netwhy/analyze/proto/dhcp"
	"netwhy/analyze/proto/dhcpv6"
	"netwhy/analyze/proto/dns"
	"netwhy/analyze/proto/dtls"
	"netwhy/analyze/proto/ftp"
	"netwhy/analyze/proto/http"
	"netwhy/analyze/proto/http2"
	"netwhy/analyze/proto/icmp"
	"netwhy/analyze/proto/imap"
	"netwhy/analyze/proto/mysql"
	"netwhy/analyze/proto/nd"
	"netwhy/analyze/proto/ntp"
	"netwhy/analyze/proto/pgsql"
	"netwhy/analyze/proto/pop"
	"netwhy/analyze/proto/quic"
	"netwhy/analyze/proto/redis"
	"netwhy/analyze/proto/smtp"
	"netwhy/analyze/proto/ssh"
	"netwhy/analyze/proto/tls"
)

// Protocols lists the analyzers, one line each. The order is that of probing
// among those that know the port equally well.
func Protocols() []proto.Spec {
	return []proto.Spec{
		arp.Spec(),
		dhcp.Spec(),
		dhcpv6.Spec(),
		dns.LLMNR(),
		dns.MDNS(),
		dns.Spec(),
		dns.TCP(),
		dtls.Spec(),
		ftp.Spec(),
		http.SSDP(),
		http.Spec(),
		http2.Spec(),
		icmp.Spec(),
		imap.Spec(),
		mysql.Spec(),
		nd.Spec(),
		quic.Spec(),
		ntp.Spec(),
		pgsql.Spec(),
		pop.Spec(),
		redis.Spec(),
		smtp.Spec(),
		ssh.Spec(),
		tls.Spec(),
	}
}

// Correlators lists what reads across conversations, one line each.
func Correlators() []correlate.Spec {
	return []correlate.Spec{
		correlate.ICMPErrors(),
		correlate.Leases(),
		correlate.Logins(),
		correlate.Neighbours(),
		correlate.Paths(),
		correlate.Redirects(),
		correlate.Scan(),
		correlate.Storm(),
		correlate.Tunnels(),
	}
}
