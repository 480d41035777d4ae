package prototest_test

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"netwhy/analyze"
	"netwhy/analyze/finding"
	"netwhy/capture"
)

// replay analyses one capture of a shared folder.
func replay(t *testing.T, path string) *analyze.Result {
	t.Helper()
	src, err := capture.Open(t.Context(), []string{path}, capture.Options{})
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer src.Close()
	r, err := analyze.Run(t.Context(), src, analyze.Options{}, nil)
	var cut *capture.TruncatedError
	if err != nil && !errors.As(err, &cut) {
		t.Fatalf("%s: %v", path, err)
	}
	return r
}

// What the published condition of a capture is has to be among the findings.
func TestConditions(t *testing.T) {
	t.Parallel()
	dir := filepath.Dir(corpus(t))
	for file, want := range map[string][]finding.Code{
		"corpus/BGP_hard_reset.pcap":           {"bgp.session-ended"},
		"corpus/BGP_notification.pcap":         {"bgp.notification"},
		"corpus/EIGRP_goodbye.pcap":            {"eigrp.goodbye"},
		"corpus/HSRP_failover.pcap":            {"hsrp.takeover"},
		"corpus/RIPv2_subnet_down.pcap":        {"rip.unreachable"},
		"corpus/VRRP_preempt.pcap":             {"vrrp.master-change"},
		"corpus/amp-snmp.pcap":                 {"reflection.udp"},
		"corpus/amp-tcp-synack.pcap":           {"reflection.syn-ack"},
		"corpus/beacon-2s.pcap":                {"beacon.periodic"},
		"corpus/bfd-mad-flap.pcap":             {"bfd.down"},
		"corpus/bgp-wrong-as.pcapng":           {"bgp.notification"},
		"corpus/dhcp-nak-decline.pcapng":       {"dhcp.nak", "dhcp.decline"},
		"corpus/dhcp-starvation-mac.pcap":      {"dhcp.starvation"},
		"corpus/dhcp_flood.pcap":               {"dhcp.flood"},
		"corpus/dnp3-flood.pcap":               {"dnp3.request-flood"},
		"corpus/ftp-bruteforce.pcap":           {"ftp.login-failed", "login.failures"},
		"corpus/ftp_failed.pcap":               {"ftp.login-failed"},
		"corpus/greb-dsl-fail.pcap":            {"grebonding.line-failed"},
		"corpus/icmp-tunnel.pcap":              {"icmp.tunnel"},
		"corpus/kerbrute-spray.pcapng":         {"login.spray"},
		"corpus/ldap_invalid_credentials.pcap": {"ldap.bind-failed"},
		"corpus/mpeg-ts-cc-drop.pcap":          {"mp2t.continuity"},
		"corpus/mysql-login-failed.pcap":       {"mysql.auth-failed"},
		"corpus/nfs-fsinfo-bad-status.pcap":    {"nfs.error"},
		"corpus/oracle-redirect.pcap":          {"tns.redirect"},
		"corpus/ospf-mtu-exstart.pcapng":       {"ospf.mtu-mismatch"},
		"corpus/portmapper-unanswered.pcapng":  {"rpc.no-answer"},
		"corpus/postgres-badpass.pcap":         {"pgsql.password-not-sent"},
		"corpus/ppp-ipcp-conflict.pcapng":      {"ppp.ncp-failed"},
		"corpus/ppp-pap-wrong-password.pcap":   {"ppp.auth-failed"},
		"corpus/psql-sql-errors.pcap":          {"pgsql.error"},
		"corpus/ra-hoplimit-100.pcapng":        {"ra.illegal-hop-limit"},
		"corpus/ra-leaving.pcapng":             {"ra.leaving"},
		"corpus/radius_reject.pcapng":          {"radius.reject"},
		"corpus/rstp-tc.pcap":                  {"stp.topology-change"},
		"corpus/sip-errors.pcap":               {"sip.auth-failed", "sip.request-failed"},
		"corpus/smb2-perms.pcap":               {"smb2.error"},
		"corpus/smtp-invalid.pcap":             {"smtp.protocol-error"},
		"corpus/smtp-rcpt-553.pcap":            {"smtp.rejected"},
		"corpus/socks5-smtp-503.pcap":          {"smtp.protocol-error"},
		"corpus/sonicwall-no-dhcp-ack.pcap":    {"dhcp.offer-not-taken"},
		"corpus/sshguess.pcap":                 {"ssh.login-failed", "login.failures"},
		"corpus/dosattack.pcap":                {"flood.syn-scattered"},
		"corpus/ip_fragmented_garbage.pcap":    {"fragments.flood"},
		"corpus/ipv6-malformed-frag.pcap":      {"fragments.overlap"},
		"corpus/udp-flood-cn.pcap":             {"flood.udp"},
		"corpus/wepauthfail.pcapng":            {"wlan.auth-failed"},
		"lab/d065.pcap":                        {"dhcp.no-offer"},
		"lab/d066.pcap":                        {"dhcp.no-offer"},
		"lab/d067.pcap":                        {"dhcp.nak"},
		"lab/d068.pcap":                        {"dhcp.several-servers"},
		"lab/d088.pcap":                        {"ntp.unsynchronized"},
		"lab/d089.pcap":                        {"smtp.rejected"},
		"lab/d090.pcap":                        {"login.failures"},
		"lab/d091.pcap":                        {"pgsql.auth-failed"},
		"lab/d092.pcap":                        {"redis.error"},
	} {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(dir, filepath.FromSlash(file))
			if _, err := os.Stat(path); err != nil {
				t.Skipf("capture is missing: %v", err)
			}
			r := replay(t, path)
			for _, code := range want {
				if !slices.ContainsFunc(r.Findings, func(f finding.Finding) bool { return f.Code == code }) {
					t.Errorf("%s: no %s", file, code)
				}
			}
		})
	}
}

// Captures that are published as healthy: analyzers of services say nothing
// above info.
func TestHealthyIsQuiet(t *testing.T) {
	t.Parallel()
	dir := corpus(t)
	for _, file := range []string{
		"EIGRP_adjacency.pcap", "IPv6_NDP.pcap", "LACP.pcap", "dhcp-short-lease.pcap", "mail_sender.pcapng", "modbus.pcap",
		"sip-rtp-g711.pcap", "snmp-ipv4.pcap", "tftp_rrq.pcap", "wireguard.pcapng", "wpaauth-ok.pcapng", "pppoe-dual-stack.pcap",
		"radiotap.pcap", "GRE.pcap", "dns-frags.pcap", "ip_frag_source.pcapng", "telnet.pcap",
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(dir, file)
			if _, err := os.Stat(path); err != nil {
				t.Skipf("capture is missing: %v", err)
			}
			for _, f := range replay(t, path).Findings {
				if family, _, _ := strings.Cut(string(f.Code), "."); f.Severity > finding.Info && family != "tcp" && family != "icmp" {
					t.Errorf("%s [%s] in frame %d", f.Code, f.Severity, f.Evidence.First)
				}
			}
		})
	}
}

// leastNames is the share of Wireshark's protocol names in the corpus that are
// counted in the right captures; it only rises.
const leastNames = 0.995

func TestNamesOfProtocols(t *testing.T) {
	t.Parallel()
	dir := corpus(t)
	files, err := filepath.Glob(filepath.Join(dir, "truth", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	known, all, missing, extra := 0, 0, map[string][]string{}, map[string][]string{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var want struct {
			Names []string `json:"protocols_all"`
		}
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		got := replay(t, filepath.Join(dir, name)).Protocols
		for _, n := range want.Names {
			if n == "ethertype" || n == "data" || n == "wlan_radio" { // no protocols, but steps of its dissection
				continue
			}
			all++
			if got[n] > 0 {
				known++
			} else {
				missing[n] = append(missing[n], name)
			}
		}
		for n, count := range got {
			if count > 0 && !slices.Contains(want.Names, n) {
				extra[n] = append(extra[n], name)
			}
		}
	}
	t.Logf("%d of %d names", known, all)
	for _, n := range slices.Sorted(maps.Keys(missing)) {
		t.Logf("missing %s: %s", n, strings.Join(missing[n], " "))
	}
	for _, n := range slices.Sorted(maps.Keys(extra)) {
		t.Logf("only here %s: %s", n, strings.Join(extra[n], " "))
	}
	if float64(known) < leastNames*float64(all) {
		t.Errorf("%d of %d names known, less than %.0f%%", known, all, 100*leastNames)
	}
}
