package rules

import "strings"

// contractCauses are the names of causes of the report's contract. A rule may
// have another: near misses of these are taken for slips.
const contractCauses = `tcp-packet-loss tcp-reordering high-latency-path bufferbloat bandwidth-limited
receiver-zero-window small-receive-window slow-server-application slow-client-application connection-refused
connection-timeout-no-answer firewall-reject firewall-reset-injection server-abort client-abort
half-open-connection idle-timeout-by-middlebox syn-flood port-scan pmtu-black-hole mtu-frag-needed
icmp-host-unreachable icmp-port-unreachable routing-loop-ttl-exceeded asymmetric-capture duplicate-ip-address
arp-spoofing arp-no-answer gateway-down dns-nxdomain-burst dns-servfail dns-refused dns-timeout dns-slow
dns-truncation-tcp-blocked dns-spoofing dhcp-no-offer dhcp-nak dhcp-rogue-server tls-certificate-expired
tls-unknown-ca tls-version-mismatch tls-handshake-stalled tls-sni-unrecognized http-5xx http-4xx-auth
http-slow-response http-redirect-loop checksum-corruption duplicate-packets broadcast-storm
ipv6-unreachable-fallback ntp-unsynchronized smtp-rejected ssh-auth-bruteforce database-auth-failed redis-error`

func causes() []string { return strings.Fields(contractCauses) }
