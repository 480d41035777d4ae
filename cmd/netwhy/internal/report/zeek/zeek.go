// Package zeek writes the conversations as Zeek's conn.log: tab-separated, with
// the header that zeek-cut and others read, and with community_id as Zeek's
// package of that name adds it. What a field means is Zeek's documentation
// (base/protocols/conn/main.zeek): conn_state and history above all.
//
// Bytes of the IP layer and the order of events are kept only where this format is
// asked for (analyze.Options.Diary). Without them the bytes are unset ("-"), and
// the letters of history stand in the order in which a connection runs.
package zeek

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"netwhy/analyze/conn"
	"netwhy/analyze/flow"
	"netwhy/cmd/netwhy/internal/report"
)

// New makes a sink that writes each conversation to w.
func New(w io.Writer) report.Sink { return &sink{w: bufio.NewWriter(w)} }

type sink struct {
	w     *bufio.Writer
	begun bool
}

type field struct{ name, kind string }

// Zeek's types of columns that are met more than once.
const (
	text  = "string"
	count = "count"
)

func fields() []field {
	return []field{
		{"ts", "time"},
		{"uid", text},
		{"id.orig_h", "addr"},
		{"id.orig_p", "port"},
		{"id.resp_h", "addr"},
		{"id.resp_p", "port"},
		{"proto", "enum"},
		{"service", text},
		{"duration", "interval"},
		{"orig_bytes", count},
		{"resp_bytes", count},
		{"conn_state", text},
		{"local_orig", "bool"},
		{"local_resp", "bool"},
		{"missed_bytes", count},
		{"history", text},
		{"orig_pkts", count},
		{"orig_ip_bytes", count},
		{"resp_pkts", count},
		{"resp_ip_bytes", count},
		{"tunnel_parents", "set[string]"},
		{"community_id", text},
	}
}

const (
	unset   = "-"
	empty   = "(empty)"
	stamp   = "2006-01-02-15-04-05"
	noStamp = "1970-01-01-00-00-00"
)

func (s *sink) begin(at string) error {
	if s.begun {
		return nil
	}
	s.begun = true
	var names, kinds []string
	for _, f := range fields() {
		names, kinds = append(names, f.name), append(kinds, f.kind)
	}
	_, err := fmt.Fprintf(s.w, "#separator \\x09\n#set_separator\t,\n#empty_field\t%s\n#unset_field\t%s\n#path\tconn\n#open\t%s\n#fields\t%s\n#types\t%s\n",
		empty, unset, at, strings.Join(names, "\t"), strings.Join(kinds, "\t"))
	return err
}

// Connection writes one line.
func (s *sink) Connection(c *conn.Summary) error {
	if err := s.begin(time.Unix(0, c.Start).UTC().Format(stamp)); err != nil {
		return err
	}
	client, server := c.Client.Addr, c.Server.Addr
	duration := unset
	if c.First != c.Last {
		duration = seconds(max(0, c.Stop-c.Start))
	}
	line := []string{
		seconds(c.Start), uid(c), client.Addr().String(), strconv.Itoa(int(client.Port())), server.Addr().String(), strconv.Itoa(int(server.Port())),
		c.Proto, service(c.App), duration, payload(c, &c.Client), payload(c, &c.Server), State(c), local(c.Client.Addr.Addr().IsPrivate()),
		local(c.Server.Addr.Addr().IsPrivate()), strconv.FormatUint(c.Client.Missing+c.Server.Missing, 10), History(c),
		strconv.FormatUint(c.Client.Packets, 10), network(&c.Client), strconv.FormatUint(c.Server.Packets, 10), network(&c.Server), empty, orUnset(c.CommunityID),
	}
	_, err := s.w.WriteString(strings.Join(line, "\t") + "\n")
	return err
}

// seconds has microseconds, as Zeek's times have.
func seconds(ns int64) string {
	const micro, million = 1000, 1_000_000
	us := ns / micro
	return fmt.Sprintf("%d.%06d", us/million, us%million)
}

func orUnset(s string) string {
	if s == "" {
		return unset
	}
	return s
}

func local(private bool) string {
	if private {
		return "T"
	}
	return "F"
}

// payload counts bytes once, as Zeek does from sequence numbers.
func payload(c *conn.Summary, s *conn.Side) string {
	if c.ID.Proto == flow.TCP {
		return strconv.FormatUint(s.Unique, 10)
	}
	return strconv.FormatUint(s.Bytes, 10)
}

// network is the length of a side's IP packets; one that sent packets and has
// none was not measured.
func network(s *conn.Side) string {
	if s.NetBytes == 0 && s.Packets > 0 {
		return unset
	}
	return strconv.FormatUint(s.NetBytes, 10)
}

// service is Zeek's name of the protocol; letters, digits and marks of names
// only, since an analyzer may take it from a packet.
func service(app string) string {
	switch app {
	case "":
		return unset
	case "tls", "dtls":
		return "ssl"
	case "quic":
		return "quic,ssl"
	case "pgsql":
		return "postgresql"
	}
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '_'
	}, app)
}

// uid is 18 characters as Zeek's, made from the conversation, so that the same
// capture has the same.
func uid(c *conn.Summary) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", c.CommunityID, c.Start, c.First))
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	const length = 17
	out := []byte{'C'}
	for at := 0; len(out) <= length; at += 4 {
		if at+4 > len(sum) {
			sum = sha256.Sum256(sum[:])
			at = 0
		}
		for n, k := binary.BigEndian.Uint32(sum[at:]), 0; k < 3 && len(out) <= length; k++ {
			out = append(out, letters[n%uint32(len(letters))])
			n /= uint32(len(letters))
		}
	}
	return string(out)
}

// State is Zeek's conn_state.
func State(c *conn.Summary) string {
	orig, resp := c.Client.Packets > 0, c.Server.Packets > 0
	if c.ID.Proto != flow.TCP {
		switch {
		case orig && resp:
			return "SF"
		case orig:
			return "S0"
		case resp:
			return "SHR"
		}
		return "OTH"
	}
	syn := !c.MidStream && c.SYNs > 0
	switch {
	case c.End == conn.EndRefused:
		return "REJ"
	case !syn && !c.Established && resp && !orig && c.Server.Fin:
		return "SHR"
	case c.MidStream || !syn:
		return "OTH"
	case c.Established:
		switch {
		case c.Client.Rst:
			return "RSTO"
		case c.Server.Rst:
			return "RSTR"
		case c.Client.Fin && c.Server.Fin:
			return "SF"
		case c.Client.Fin:
			return "S2"
		case c.Server.Fin:
			return "S3"
		}
		return "S1"
	case c.Client.Rst:
		return "RSTOS0"
	case c.Server.Rst:
		return "REJ"
	case c.Client.Fin && !resp:
		return "SH"
	}
	return "S0"
}

// History is Zeek's history, upper case for the originator.
func History(c *conn.Summary) string {
	if c.History != "" {
		return c.History + damage(c)
	}
	var b strings.Builder
	both := func(upper, lower string, client, server bool) {
		if client {
			b.WriteString(upper)
		}
		if server {
			b.WriteString(lower)
		}
	}
	if c.ID.Proto != flow.TCP {
		both("D", "d", c.Client.Packets > 0, c.Server.Packets > 0)
		return orUnset(b.String())
	}
	answered := c.SYNs > 0 && (c.Established || c.HandshakeServer > 0)
	both("S", "h", c.SYNs > 0 && !c.MidStream, answered && !c.MidStream)
	both("A", "", c.Established && c.Client.Packets > 1, false)
	both("D", "", c.Client.Unique > 0, false)
	both("", "a", false, c.Established && c.Client.Unique > 0)
	both("", "d", false, c.Server.Unique > 0)
	both("G", "g", c.Client.Missing > 0, c.Server.Missing > 0)
	both("T", "t", c.Client.Retransmits > 0, c.Server.Retransmits > 0)
	both("W", "w", c.Client.ZeroWindows > 0, c.Server.ZeroWindows > 0)
	both("C", "c", c.Client.BadChecksums > 0, c.Server.BadChecksums > 0)
	both("F", "f", c.Client.Fin, c.Server.Fin)
	both("R", "r", c.Client.Rst, c.Server.Rst)
	return orUnset(b.String())
}

// damage are the letters of bad checksums, which are known at the end.
func damage(c *conn.Summary) string {
	s := ""
	if c.Client.BadChecksums > 0 {
		s += "C"
	}
	if c.Server.BadChecksums > 0 {
		s += "c"
	}
	return s
}

// Finding says nothing: the log is of conversations.
func (*sink) Finding(*report.Finding) error { return nil }

// Finish writes the last line.
func (s *sink) Finish(r *report.Report) error {
	at := noStamp
	if r.Source.Last != nil {
		at = time.Unix(0, int64(*r.Source.Last)).UTC().Format(stamp)
	}
	if err := s.begin(at); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(s.w, "#close\t%s\n", at); err != nil {
		return err
	}
	return s.w.Flush()
}
