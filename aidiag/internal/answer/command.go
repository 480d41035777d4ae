package answer

import (
	"slices"
	"strings"
)

// commands are what may be proposed to tell causes apart: they look and change
// nothing. Behind each, the words that would make it change something.
func forbiddenWords(command string) (words []string, known bool) {
	changes := []string{"set", "add", "del", "delete", "flush", "change", "replace", "down", "up", "append", "-F", "-A", "-I", "-D", "-X", "-P"}
	switch command {
	case "ping", "ping6", "traceroute", "traceroute6", "tracepath", "mtr", "dig", "host", "nslookup", "drill", "ss", "netstat",
		"arping", "iperf3", "getent", "uptime", "vmstat", "top", "sar", "nstat", "chronyc", "ntpq", "lsof", "tracert", "pathping", "ipconfig",
		"journalctl", "dmesg", "nmap", "free", "iostat", "pidstat", "ntpdate", "timedatectl", "hping3", "resolvectl", "netwhy", "capinfos":
		return []string{"set-time", "set-ntp", "set-timezone", "flush-caches", "--script", "/flushdns", "/release", "/renew"}, true
	case "ip", "tc", "bridge", "nft", "iptables", "ip6tables", "conntrack", "route", "arp":
		return append(changes, "-s", "-d"), true
	case "ethtool":
		return []string{"-K", "-A", "-G", "-C", "-L", "-s", "-r", "-E", "-f", "--reset", "--change"}, true
	case "sysctl":
		return []string{"-w", "-p", "--write", "--system", "--load"}, true
	case "tcpdump", "tshark", "dumpcap":
		return []string{"-z", "-X", "-w"}, true
	case "openssl":
		return []string{"genrsa", "req", "enc", "-engine", "-out", "rand", "ca"}, true
	case "curl":
		return []string{"-o", "-O", "-T", "-d", "-F", "--data", "--data-binary", "--upload-file", "--output", "--form", "-K", "--config", "-u", "--user"}, true
	case "nc", "ncat":
		return []string{"-e", "-c", "-l", "--exec", "--sh-exec", "-lp", "-le"}, true
	case "systemctl":
		return []string{"start", "stop", "restart", "disable", "enable", "mask", "kill", "reload", "daemon-reload", "reboot", "poweroff"}, true
	}
	return nil, false
}

const changesSomething = "the command would change something"

// Command says why a command may not be proposed, "" if it may: one of a list,
// without a shell's means, on hosts that the evidence knows or that the reader
// fills in.
func Command(s string) string {
	if strings.ContainsAny(s, ";|&$`\\\n\r{}*!~#\"") {
		return "the command uses the shell"
	}
	fields := strings.Fields(s)
	if len(fields) > 0 && fields[0] == "sudo" {
		fields = fields[1:]
	}
	if len(fields) == 0 || strings.ContainsRune(fields[0], '/') {
		return "the command is not on the list"
	}
	bad, known := forbiddenWords(fields[0])
	if !known {
		return "the command is not on the list"
	}
	for _, f := range fields[1:] {
		if strings.ContainsAny(f, "<>") && !placeholder(f) {
			return "the command uses the shell"
		}
		word, _, _ := strings.Cut(f, "=")
		if slices.Contains(bad, word) {
			return changesSomething
		}
		if fields[0] == "sysctl" && strings.Contains(f, "=") {
			return changesSomething
		}
		if fields[0] == "curl" && len(f) > 2 && f[0] == '-' && f[1] != '-' && strings.ContainsAny(f, "oOTdFKu") {
			return changesSomething
		}
		if linkLike().MatchString(strings.TrimPrefix(strings.TrimPrefix(f, "https://"), "http://")) {
			return "the command names an address of its own"
		}
	}
	return ""
}

// placeholder is <word>, possibly with something around it.
func placeholder(f string) bool {
	i, j := strings.IndexByte(f, '<'), strings.IndexByte(f, '>')
	if i < 0 || j < i+2 || strings.Count(f, "<") != 1 || strings.Count(f, ">") != 1 {
		return false
	}
	for _, r := range f[i+1 : j] {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' && r != ' ' {
			return false
		}
	}
	return true
}
