package capture

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// signature is the beginning of a format that is not read here.
type signature struct {
	prefix string
	what   string
}

const (
	remedyConvert = "convert it: editcap -F pcapng FILE new.pcapng"
	remedyUnpack  = "unpack it first"
	remedyPath    = "name a pcap or pcapng file"
	htmlPage      = "an HTML page, perhaps the login page of where it was downloaded"
)

// foreign returns what the first bytes say, with the remedy.
func foreign(head []byte) (what, remedy string) {
	for _, s := range [...]signature{
		{"snoop\x00\x00\x00", "a snoop capture (Solaris)"},
		{"RTSS", "a Network Monitor 1.x capture (netmon)"},
		{"GMBU", "a Network Monitor 2.x capture (netmon)"},
		{"TRSNIFF data", "a DOS Sniffer capture (ngsniffer)"},
		{"XCP\x00", "a Sniffer capture (ngwsniffer, NetXRay)"},
		{"ObserverPktBuffe", "an Observer capture"},
		{"+---------+---", "a K12 text capture (k12text)"},
		{"\x00\x00\x02\x00\x12\x05\x00\x10", "a K12 capture"},
		{"\x7fver", "an EtherPeek or OmniPeek capture"},
		{"DataSeria", "an Accellent capture"},
		{"btsnoop\x00", "a Bluetooth snoop log (btsnoop)"},
		{"CCSD", "a Catapult DCT2000 log"},
		{"\xaa\xaa\xaa\xaa", "an InfoVista 5View capture"},
		{"\x05VNF", "a Visual Networks capture"},
		{"TR\x00d", "an HP-UX nettl trace"},
		{"\x01\x10L\x00\x01\x05Trace", "a Novell LANalyzer capture"},
	} {
		if bytes.HasPrefix(head, []byte(s.prefix)) {
			return s.what, remedyConvert
		}
	}
	for _, s := range [...]signature{
		{"BZh", "bzip2 data"},
		{"\xfd7zXZ\x00", "xz data"},
		{"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"},
		{"PK\x03\x04", "a ZIP archive"},
		{"Rar!", "a RAR archive"},
		{"\x1f\x9d", "compress (.Z) data"},
		{"\x1f\x8b", "gzip data"},
		{"\x28\xb5\x2f\xfd", "zstd data"},
		{"\x04\x22\x4d\x18", "lz4 data"},
	} {
		if bytes.HasPrefix(head, []byte(s.prefix)) {
			return s.what, remedyUnpack
		}
	}
	for _, s := range [...]signature{
		{"%PDF", "a PDF document"},
		{"\x7fELF", "a program (ELF)"},
		{"\x89PNG", "a PNG picture"},
		{"<!DOCTYPE", htmlPage},
		{"<html", htmlPage},
		{"<?xml", "an XML document; if it is Wireshark's PDML, export the packets as pcapng instead"},
		{"version https://git-lfs", "a Git LFS pointer, not the file itself"},
	} {
		if bytes.HasPrefix(head, []byte(s.prefix)) {
			return s.what, remedyPath
		}
	}
	if len(head) > 262 && string(head[257:262]) == "ustar" {
		return "a tar archive", remedyUnpack
	}
	return text(head)
}

// text recognises what people redirect into a .pcap file by mistake.
func text(head []byte) (what, remedy string) {
	if !isText(head) {
		if isERF(head) {
			return "an ERF capture (Endace), so it seems", remedyConvert
		}
		return "", ""
	}
	line, _, _ := bytes.Cut(head, []byte("\n"))
	switch {
	case isClock(line) && (bytes.Contains(line, []byte(" IP ")) || bytes.Contains(line, []byte(" IP6 ")) || bytes.Contains(line, []byte(" ARP"))):
		return "the text output of tcpdump", "capture again with: tcpdump -w FILE.pcap"
	case bytes.Contains(line, []byte("→")) || bytes.Contains(line, []byte(" -> ")):
		return "the text output of tshark or a similar tool", "capture again with: tshark -w FILE.pcapng"
	case bytes.HasPrefix(line, []byte("No.")) || bytes.HasPrefix(line, []byte(`"No."`)):
		return "a text export of Wireshark", "export it there with File, Save As, pcapng"
	case bytes.HasPrefix(line, []byte("0000")):
		return "a hex dump", "turn it into a capture: text2pcap FILE new.pcapng"
	}
	return "plain text", remedyPath
}

// isClock tells whether a line begins with a time of day, as tcpdump's do.
func isClock(line []byte) bool {
	return len(line) > 8 && line[2] == ':' && line[5] == ':' && line[0] >= '0' && line[0] <= '2'
}

func isText(head []byte) bool {
	b := head[:min(len(head), 512)]
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n <= 1 && len(b) >= utf8.UTFMax {
			return false
		}
		if r < ' ' && r != '\n' && r != '\r' && r != '\t' && r != 0x1b {
			return false
		}
		b = b[n:]
	}
	return len(head) > 0
}

// isERF tells whether the first two records chain as ERF ones do: 8 bytes of
// time, type, flags, length of the record (big-endian), loss, wire length.
func isERF(head []byte) bool {
	at := 0
	for range 2 {
		if len(head)-at < 16 {
			return false
		}
		kind, n := head[at+8]&0x7f, int(head[at+10])<<8|int(head[at+11])
		if kind == 0 || kind > 32 || n < 16 {
			return false
		}
		at += n
	}
	return true
}

// notACapture says in one line what a file is, if not a capture.
func notACapture(name string, head []byte, c compression) *OpenError {
	in := ""
	if c != "" {
		in = string(c) + " with something else in it: "
	}
	if len(head) == 0 {
		if c != "" {
			return &OpenError{Name: name, Reason: string(c) + " of nothing (0 bytes)", Remedy: "the capture was not written; capture again"}
		}
		return &OpenError{Name: name, Reason: "it is empty (0 bytes), without even a capture's header", Remedy: "the capture was not written; capture again"}
	}
	if what, remedy := foreign(head); what != "" {
		return &OpenError{Name: name, Reason: "not a pcap or pcapng capture but " + in + what, Remedy: remedy}
	}
	if len(head) < pcapHeaderLen && len(head) >= 4 && isPcap(head) {
		return &OpenError{Name: name, Reason: fmt.Sprintf("a pcap file that ends inside its header (%d of %d bytes)%s", len(head), pcapHeaderLen, inPack(c)), Remedy: "copy it again from where it was captured"}
	}
	return &OpenError{Name: name, Reason: fmt.Sprintf("not a pcap or pcapng capture: %sit begins with % x", in, head[:min(len(head), 8)]), Remedy: remedyPath}
}

func inPack(c compression) string {
	if c == "" {
		return ""
	}
	return " in " + string(c)
}
