package analyze

import (
	"netwhy/analyze/correlate"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/arp"
	"netwhy/analyze/proto/bfd"
	"netwhy/analyze/proto/bgp"
	"netwhy/analyze/proto/cdp"
	"netwhy/analyze/proto/dhcp"
	"netwhy/analyze/proto/dhcpv6"
	"netwhy/analyze/proto/dns"
	"netwhy/analyze/proto/dtls"
	"netwhy/analyze/proto/eigrp"
	"netwhy/analyze/proto/ftp"
	"netwhy/analyze/proto/greb"
	"netwhy/analyze/proto/hsrp"
	"netwhy/analyze/proto/http"
	"netwhy/analyze/proto/http2"
	"netwhy/analyze/proto/icmp"
	"netwhy/analyze/proto/igmp"
	"netwhy/analyze/proto/imap"
	"netwhy/analyze/proto/lacp"
	"netwhy/analyze/proto/lldp"
	"netwhy/analyze/proto/mysql"
	"netwhy/analyze/proto/nd"
	"netwhy/analyze/proto/ntp"
	"netwhy/analyze/proto/ospf"
	"netwhy/analyze/proto/pgsql"
	"netwhy/analyze/proto/pop"
	"netwhy/analyze/proto/ppp"
	"netwhy/analyze/proto/quic"
	"netwhy/analyze/proto/ra"
	"netwhy/analyze/proto/radius"
	"netwhy/analyze/proto/redis"
	"netwhy/analyze/proto/rip"
	"netwhy/analyze/proto/smtp"
	"netwhy/analyze/proto/snmp"
	"netwhy/analyze/proto/ssh"
	"netwhy/analyze/proto/stp"
	"netwhy/analyze/proto/syslog"
	"netwhy/analyze/proto/tftp"
	"netwhy/analyze/proto/tls"
	"netwhy/analyze/proto/vrrp"
	"netwhy/analyze/proto/wlan"
)

// Protocols lists the analyzers, one line each. The order is that of probing
// among those that know the port equally well.
func Protocols() []proto.Spec {
	return []proto.Spec{
		arp.Spec(),
		bfd.Spec(),
		bgp.Spec(),
		cdp.Spec(),
		dhcp.Spec(),
		dhcpv6.Spec(),
		dns.LLMNR(),
		dns.MDNS(),
		dns.Spec(),
		dns.TCP(),
		dtls.Spec(),
		eigrp.Spec(),
		ftp.Spec(),
		greb.Spec(),
		hsrp.Spec(),
		http.SSDP(),
		http.Spec(),
		http2.Spec(),
		icmp.Spec(),
		igmp.Spec(),
		imap.Spec(),
		lacp.Spec(),
		lldp.Spec(),
		mysql.Spec(),
		nd.Spec(),
		ntp.Spec(),
		ospf.Spec(),
		pgsql.Spec(),
		pop.Spec(),
		ppp.Spec(),
		quic.Spec(),
		ra.Spec(),
		radius.Spec(),
		redis.Spec(),
		rip.NG(),
		rip.Spec(),
		smtp.Spec(),
		snmp.Spec(),
		ssh.Spec(),
		stp.Spec(),
		syslog.Spec(),
		tftp.Spec(),
		tls.Spec(),
		vrrp.Spec(),
		wlan.EAPOL(),
		wlan.Spec(),
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
