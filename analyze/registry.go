package analyze

import (
	"netwhy/analyze/correlate"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/arp"
	"netwhy/analyze/proto/dns"
	"netwhy/analyze/proto/http"
	"netwhy/analyze/proto/http2"
	"netwhy/analyze/proto/icmp"
	"netwhy/analyze/proto/nd"
	"netwhy/analyze/proto/tls"
)

// Protocols lists the analyzers, one line each. The order is that of probing
// among those that know the port equally well.
func Protocols() []proto.Spec {
	return []proto.Spec{
		arp.Spec(),
		dns.Spec(),
		dns.TCP(),
		dns.MDNS(),
		dns.LLMNR(),
		http.Spec(),
		http.SSDP(),
		http2.Spec(),
		icmp.Spec(),
		nd.Spec(),
		tls.Spec(),
	}
}

// Correlators lists what reads across conversations, one line each.
func Correlators() []correlate.Spec {
	return []correlate.Spec{
		correlate.ICMPErrors(),
		correlate.Neighbours(),
		correlate.Paths(),
		correlate.Redirects(),
		correlate.Scan(),
		correlate.Storm(),
		correlate.Tunnels(),
	}
}
