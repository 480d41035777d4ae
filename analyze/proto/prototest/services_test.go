package prototest_test

import (
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"time"

	"netwhy/analyze"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/prototest"
)

const (
	up   = flow.ToServer
	down = flow.ToClient
	ms   = time.Millisecond
)

// dialogue is one conversation of a service and what has to be said of it.
type dialogue struct {
	spec     string
	carrier  proto.Transport
	port     uint16
	what     string
	steps    []prototest.Step
	codes    []finding.Code // in order, none besides
	exchange string         // label and code of one of the exchanges; empty: none needed
	failed   bool           // that exchange failed
	login    string         // "ok" or "failed" when one has to be published
}

// lines makes steps of texts: "> " is sent by the client, "< " by the server.
func lines(text ...string) []prototest.Step {
	var steps []prototest.Step
	for i, l := range text {
		dir := up
		if l[0] == '<' {
			dir = down
		}
		steps = append(steps, prototest.Step{Dir: dir, At: time.Duration(i) * 10 * ms, B: []byte(l[2:] + "\r\n")})
	}
	return steps
}

// hexes makes steps of hexadecimal bytes, marked the same way.
func hexes(text ...string) []prototest.Step {
	var steps []prototest.Step
	for i, l := range text {
		dir := up
		if l[0] == '<' {
			dir = down
		}
		b, err := hex.DecodeString(strings.ReplaceAll(l[1:], " ", ""))
		if err != nil {
			panic(err)
		}
		steps = append(steps, prototest.Step{Dir: dir, At: time.Duration(i) * 10 * ms, B: b})
	}
	return steps
}

func h(s string) string { return hex.EncodeToString([]byte(s)) }

// pg makes a PostgreSQL message.
func pg(typ byte, body string) string {
	b := binary.BigEndian.AppendUint32(nil, uint32(4+len(body)))
	if typ != 0 {
		b = append([]byte{typ}, b...)
	}
	return hex.EncodeToString(append(b, body...))
}

// my makes a MySQL packet.
func my(seq byte, body string) string {
	return hex.EncodeToString(append([]byte{byte(len(body)), byte(len(body) >> 8), 0, seq}, body...))
}

func ntp(first, stratum byte, refid, origin, transmit string) string {
	b := make([]byte, 48)
	b[0], b[1] = first, stratum
	copy(b[12:], refid)
	copy(b[24:], origin)
	copy(b[40:], transmit)
	return hex.EncodeToString(b)
}

func ssh(typ byte, n int) string { // a packet of the key exchange
	b := make([]byte, 4+n)
	binary.BigEndian.PutUint32(b, uint32(n))
	b[4], b[5] = 4, typ
	return hex.EncodeToString(b)
}

func noise(n int) string { return strings.Repeat("a5", n) }

// slow spaces steps out.
func slow(by time.Duration, steps []prototest.Step) []prototest.Step {
	for i := range steps {
		steps[i].At = time.Duration(i) * by
	}
	return steps
}

const (
	bfdDown = "> 20 40 03 18 00000001 00000000 000f4240 000f4240 00000000"
	pgStart = "\x00\x03\x00\x00user\x00bob\x00database\x00shop\x00\x00"
	myHello = "\x0a8.0.36\x00\x01\x00\x00\x00abcdefgh\x00\xff\xf7\x08\x02\x00"
	myLogin = "\x85\xa6\x03\x00\x00\x00\x00\x01\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00bob\x00\x00"
)

func dialogues() []dialogue {
	return []dialogue{
		{"smtp", proto.TCP, 25, "recipient refused", lines("< 220 mx ESMTP", "> EHLO me", "< 250-mx", "< 250 HELP", "> MAIL FROM:<a@b>", "< 250 ok",
			"> RCPT TO:<x@y>", "< 550 no such user", "> QUIT", "< 221 bye"), []finding.Code{"smtp.rejected"}, "RCPT TO:<x@y> 550", true, ""},
		{"smtp", proto.TCP, 25, "delivered", lines("< 220 mx ESMTP", "> EHLO me", "< 250 mx", "> MAIL FROM:<a@b>", "< 250 ok",
			"> RCPT TO:<x@y>", "< 250 ok", "> DATA", "< 354 go", "> 550 is text here", "> .", "< 250 queued", "> QUIT", "< 221 bye"), nil, "content 250", false, ""},
		{
			"smtp", proto.TCP, 25, "deferred", lines("< 220 mx ESMTP", "> EHLO me", "< 250 mx", "> MAIL FROM:<a@b>", "< 451 greylisted"),
			[]finding.Code{"smtp.deferred"},
			"MAIL FROM:<a@b> 451", true, "",
		},
		{
			"smtp", proto.TCP, 25, "login refused", lines("< 220 mx ESMTP", "> EHLO me", "< 250 AUTH", "> AUTH LOGIN", "< 334 VXNlcg", "> Ym9i", "< 334 UGFzcw", "> eA", "< 535 no"),
			[]finding.Code{"smtp.auth-failed"},
			"AUTH 535", true, "failed",
		},
		{
			"smtp", proto.TCP, 25, "not understood", lines("< 220 mx ESMTP", "> EHLO me", "< 250 mx", "> DATA", "< 503 first RCPT"),
			[]finding.Code{"smtp.protocol-error"},
			"DATA 503", true, "",
		},
		{
			"ftp", proto.TCP, 21, "login refused", lines("< 220 ftp", "> USER bob", "< 331 password", "> PASS x", "< 530 Login incorrect."),
			[]finding.Code{"ftp.login-failed"},
			"PASS 530", true, "failed",
		},
		{
			"ftp", proto.TCP, 21, "transfer", lines("< 220 ftp", "> USER bob", "< 331 password", "> PASS x", "< 230 in", "> RETR f", "< 150 opening", "< 226 done"),
			nil, "RETR f 226", false, "ok",
		},
		{
			"ftp", proto.TCP, 21, "no data connection", lines("< 220 ftp", "> USER bob", "< 230 in", "> RETR f", "< 150 opening", "< 425 cannot open"),
			[]finding.Code{"ftp.data-failed"},
			"RETR f 425", true, "ok",
		},
		{"pop", proto.TCP, 110, "login refused", lines("< +OK POP3", "> USER bob", "< +OK", "> PASS x", "< -ERR no"), []finding.Code{"pop.login-failed"}, "PASS -ERR", true, "failed"},
		{
			"pop", proto.TCP, 110, "mail read", lines("< +OK POP3", "> USER bob", "< +OK", "> PASS x", "< +OK", "> RETR 1", "< +OK", "< -ERR is text here", "< .", "> QUIT", "< +OK"),
			nil, "RETR 1 +OK", false, "ok",
		},
		{"imap", proto.TCP, 143, "login refused", lines("< * OK IMAP4", "> a1 LOGIN bob x", "< a1 NO wrong"), []finding.Code{"imap.login-failed"}, "LOGIN NO", true, "failed"},
		{
			"imap", proto.TCP, 143, "literal", lines("< * OK IMAP4", "> a1 LOGIN bob x", "< a1 OK in", "> a2 FETCH 1 BODY[]", "< * 1 FETCH (BODY[] {9}", "< a2 NO xx)", "< a2 OK done"),
			nil, "FETCH OK", false, "ok",
		},
		{
			"ssh", proto.TCP, 22, "three guesses", append(lines("> SSH-2.0-a", "< SSH-2.0-b"), hexes(
				">"+ssh(20, 60), "<"+ssh(20, 60), ">"+ssh(30, 44), "<"+ssh(31, 300), "<"+ssh(21, 12), ">"+ssh(21, 12),
				">"+noise(44), "<"+noise(44), ">"+noise(60), "<"+noise(52), ">"+noise(148), "<"+noise(52), ">"+noise(148), "<"+noise(52))...),
			[]finding.Code{"ssh.login-failed"},
			"", false, "failed",
		},
		{
			"ssh", proto.TCP, 22, "success", append(lines("> SSH-2.0-a", "< SSH-2.0-b"), hexes(
				">"+ssh(20, 60), "<"+ssh(20, 60), ">"+ssh(30, 44), "<"+ssh(31, 300), "<"+ssh(21, 12), ">"+ssh(21, 12),
				">"+noise(44), "<"+noise(44), ">"+noise(60), "<"+noise(52), ">"+noise(148), "<"+noise(28), ">"+noise(112))...),
			nil, "", false, "ok",
		},
		{"pgsql", proto.TCP, 5432, "wrong password", hexes(">"+pg(0, pgStart), "<"+pg('R', "\x00\x00\x00\x05abcd"), ">"+pg('p', "md5\x00"),
			"<"+pg('E', "SFATAL\x00C28P01\x00Mpassword authentication failed\x00\x00")), []finding.Code{"pgsql.auth-failed"}, "login 28P01", true, "failed"},
		{
			"pgsql", proto.TCP, 5432, "query and error", hexes(">"+pg(0, pgStart), "<"+pg('R', "\x00\x00\x00\x00")+pg('Z', "I"), ">"+pg('Q', "SELECT 1\x00"),
				"<"+pg('C', "SELECT 1\x00")+pg('Z', "I"), ">"+pg('Q', "SELEC\x00"), "<"+pg('E', "SERROR\x00C42601\x00Msyntax\x00\x00")+pg('Z', "I")),
			[]finding.Code{"pgsql.error"},
			"SELEC 42601", true, "ok",
		},
		{
			"mysql", proto.TCP, 3306, "wrong password", hexes("<"+my(0, myHello), ">"+my(1, myLogin), "<"+my(2, "\xff\x15\x04#28000Access denied")),
			[]finding.Code{"mysql.auth-failed"},
			"login 1045", true, "failed",
		},
		{
			"mysql", proto.TCP, 3306, "query and error", hexes("<"+my(0, myHello), ">"+my(1, myLogin), "<"+my(2, "\x00\x00\x00\x02\x00\x00\x00"),
				">"+my(0, "\x03SELECT 1"), "<"+my(1, "\x00\x00\x00\x02\x00\x00\x00"), ">"+my(0, "\x03SELEC"), "<"+my(1, "\xff\x28\x04#42000syntax")),
			[]finding.Code{"mysql.error"},
			"SELEC 1064", true, "ok",
		},
		{"resp", proto.TCP, 6379, "typed login", lines("> auth secret", "< -WRONGPASS invalid username-password pair or user is disabled."), []finding.Code{"redis.error"}, "AUTH WRONGPASS", true, "failed"},
		{"resp", proto.TCP, 6379, "no login", lines("> *2\r\n$3\r\nGET\r\n$1\r\nk", "< -NOAUTH Authentication required."), []finding.Code{"redis.error"}, "GET k NOAUTH", true, ""},
		{
			"resp", proto.TCP, 6379, "nested answer", lines("> *1\r\n$4\r\nROLE", "< *3\r\n$6\r\nmaster\r\n:1\r\n*1\r\n*2\r\n$1\r\na\r\n$-1", "> *2\r\n$3\r\nGET\r\n$1\r\nk", "< $7\r\n-ERR ab"),
			nil, "GET k OK", false, "",
		},
		{"ldap", proto.TCP, 389, "wrong password", hexes("> 300c 020101 6007 020103 0400 8000", "< 300c 020101 6107 0a0131 0400 0400"), []finding.Code{"ldap.bind-failed"}, "bind invalidCredentials", true, "failed"},
		{"mqtt", proto.TCP, 1883, "not authorized", hexes("> 100d 0004"+h("MQTT")+"04 02 003c 0001"+h("x"), "< 2002 0005"), []finding.Code{"mqtt.refused"}, "CONNECT 5", true, "failed"},
		{"mqtt", proto.TCP, 1883, "not introduced", hexes("> 3005 0001" + h("abc")), []finding.Code{"mqtt.no-connect"}, "", false, ""},
		{"mbtcp", proto.TCP, 502, "exception", hexes("> 0001 0000 0006 01 03 0000 0001", "< 0001 0000 0003 01 83 02"), []finding.Code{"modbus.exception"}, "function 3 illegal data address", true, ""},
		{"socks", proto.TCP, 1080, "refused", hexes("> 050100", "< 0500", "> 05010001 0a000001 0050", "< 05050001 00000000 0000"), []finding.Code{"socks.refused"}, "CONNECT 10.0.0.1:80 connection refused", true, ""},
		{"socks", proto.TCP, 1080, "version 4 refused", hexes("> 0401 0050 0a000001"+h("bob")+"00", "< 005b 0000 00000000"), []finding.Code{"socks.refused"}, "CONNECT 10.0.0.1:80 rejected or failed", true, ""},
		{"socks", proto.TCP, 1080, "version 4A with a name", hexes("> 0401 0050 00000001 00"+h("www.test")+"00", "< 005b 0000 00000000"), []finding.Code{"socks.refused"}, "CONNECT www.test:80 rejected or failed", true, ""},
		{"vnc", proto.TCP, 5900, "wrong password", hexes("<"+h("RFB 003.008\n"), ">"+h("RFB 003.008\n"), "< 0102", "> 02", "<"+noise(16), ">"+noise(16), "< 00000001 00000004"+h("nope")), []finding.Code{"vnc.login-failed"}, "", false, "failed"},
		{"vnc", proto.TCP, 5900, "old version", hexes("<"+h("RFB 003.003\n"), ">"+h("RFB 003.003\n"), "< 00000002", "<"+noise(16), ">"+noise(16), "< 00000000", "> 01"), nil, "", false, "ok"},
		{"vnc", proto.TCP, 5900, "turned away", hexes("<"+h("RFB 003.008\n"), ">"+h("RFB 003.008\n"), "< 00 00000004"+h("busy")), []finding.Code{"vnc.refused"}, "", false, ""},
		{"pptp", proto.TCP, 1723, "call refused", hexes("> 0010 0001 1a2b3c4d 0007 0000 00010001", "< 0014 0001 1a2b3c4d 0008 0000 0002 0001 04 00 0000"), []finding.Code{"pptp.refused"}, "", false, ""},
		{"pptp", proto.TCP, 1723, "tunnel refused", hexes("> 0010 0001 1a2b3c4d 0001 0000 01000000", "< 0010 0001 1a2b3c4d 0002 0000 0100 04 00"), []finding.Code{"pptp.refused"}, "", false, ""},
		{"pptp", proto.TCP, 1723, "accepted", hexes("> 0010 0001 1a2b3c4d 0001 0000 01000000", "< 0010 0001 1a2b3c4d 0002 0000 0100 01 00"), nil, "", false, ""},
		{"mqtt", proto.TCP, 1883, "introduced twice", hexes("> 100d 0004"+h("MQTT")+"04 02 003c 0001"+h("x"), "< 2002 0000", "> 100d 0004"+h("MQTT")+"04 02 003c 0001"+h("x")), []finding.Code{"mqtt.protocol-broken"}, "CONNECT 0", false, "ok"},
		{"amqp", proto.TCP, 5672, "another version", hexes(">"+h("AMQP\x00\x01\x00\x00"), "<"+h("AMQP\x00\x00\x09\x01")), []finding.Code{"amqp.version-refused"}, "version 1.0 0-9-1", true, ""},
		{
			"amqp", proto.TCP, 5672, "login of 1.0 refused",
			hexes(">"+h("AMQP\x03\x01\x00\x00"), "<"+h("AMQP\x03\x01\x00\x00"), "> 00000017 02 01 0000 00 53 41 c0 0b 01 a3 05 "+h("PLAIN")+" 4040", "< 00000010 02 01 0000 00 53 44 c0 03 01 50 01"),
			[]finding.Code{"amqp.closed"},
			"login auth", true, "failed",
		},
		{
			"amqp", proto.TCP, 5672, "link of 1.0 not found",
			hexes(">"+h("AMQP\x00\x01\x00\x00"), "<"+h("AMQP\x00\x01\x00\x00"), "> 00000011 02 00 0000 00 53 10 c0 04 01 a1 01 61", "< 00000011 02 00 0000 00 53 10 c0 04 01 a1 01 62",
				"< 00000027 02 00 0000 00 53 16 c0 1a 03 43 41 00 53 1d c0 12 02 a3 0e "+h("amqp:not-found")+" 40"),
			[]finding.Code{"amqp.closed"},
			"open ok", false, "",
		},
		{"amqp", proto.TCP, 5672, "closed", hexes(">"+h("AMQP\x00\x00\x09\x01"), "< 01 0000 0000000d 000a 0032 0193 05"+h("DENY!")+"0000 ce"), []finding.Code{"amqp.closed"}, "", false, "failed"},
		{"bgp", proto.TCP, 179, "bad peer", hexes(">"+strings.Repeat("ff", 16)+"001d 01 04 fde8 00b4 01010101 00", "<"+strings.Repeat("ff", 16)+"0015 03 02 02"), []finding.Code{"bgp.notification"}, "", false, ""},
		{"rdp", proto.TCP, 3389, "refused", hexes("> 0300 0013 0e e0 0000 0000 00 01 00 0800 00000000", "< 0300 0013 0e d0 0000 1234 00 03 00 0800 05000000"), []finding.Code{"rdp.refused"}, "", false, ""},
		{"mongo", proto.TCP, 27017, "login refused", hexes(
			"> 29000000 01000000 00000000 dd070000 00000000 00 14000000 10"+h("saslStart")+"00 01000000 00",
			"< 2c000000 02000000 01000000 dd070000 00000000 00 17000000 10"+h("ok")+"00 00000000 10"+h("code")+"00 12000000 00"), []finding.Code{"mongo.auth-failed"}, "saslStart 18", true, "failed"},

		{"ntp", proto.UDP, 123, "not synchronized", hexes(">"+ntp(0xe3, 0, "", "", "12345678"), "<"+ntp(0xe4, 0, "", "12345678", "x")), []finding.Code{"ntp.unsynchronized"}, "time unsynchronized", true, ""},
		{"ntp", proto.UDP, 123, "synchronized", hexes(">"+ntp(0xe3, 0, "", "", "12345678"), "<"+ntp(0x24, 2, "\x0a\x00\x00\x01", "12345678", "x")), nil, "time ok", false, ""},
		{"ntp", proto.UDP, 123, "asked too often", hexes(">"+ntp(0xe3, 0, "", "", "12345678"), "<"+ntp(0xe4, 0, "RATE", "12345678", "x")), []finding.Code{"ntp.kiss-code"}, "time RATE", true, ""},
		{"radius", proto.UDP, 1812, "rejected", hexes("> 01 07 0019"+noise(16)+"01 05"+h("bob"), "< 03 07 0014"+noise(16)), []finding.Code{"radius.reject"}, "access reject", true, "failed"},
		{"tftp", proto.UDP, 69, "no such file", hexes("> 0001"+h("f\x00octet\x00"), "< 0005 0001"+h("File not found\x00")), []finding.Code{"tftp.error"}, "read f 1", true, ""},
		{"syslog", proto.UDP, 514, "critical", hexes(">" + h("<2>disk is dying")), []finding.Code{"syslog.severe"}, "", false, ""},
		{"sip", proto.UDP, 5060, "busy", []prototest.Step{
			{Dir: up, B: []byte("INVITE sip:b@x SIP/2.0\r\nCall-ID: 1\r\nCSeq: 1 INVITE\r\nTo: <sip:b@x>\r\n\r\n")},
			{Dir: down, At: 20 * ms, B: []byte("SIP/2.0 180 Ringing\r\nCall-ID: 1\r\nCSeq: 1 INVITE\r\n\r\n")},
			{Dir: down, At: 90 * ms, B: []byte("SIP/2.0 486 Busy Here\r\nCall-ID: 1\r\nCSeq: 1 INVITE\r\nTo: <sip:b@x>\r\n\r\n")},
		}, []finding.Code{"sip.request-failed"}, "INVITE <sip:b@x> 486", true, ""},
		{"sip", proto.TCP, 5060, "busy, over TCP", []prototest.Step{
			{Dir: up, B: []byte("INVITE sip:b@x SIP/2.0\r\nCall-ID: 1\r\nCSeq: 1 INVITE\r\nTo: <sip:b@x>\r\nContent-Type: application/sdp\r\nl: 5\r\n\r\nv=0\r\n")},
			{Dir: down, At: 20 * ms, B: []byte("SIP/2.0 100 Trying\r\nCall-ID: 1\r\nCSeq: 1 INVITE\r\nContent-Length: 0\r\n\r\nSIP/2.0 180 Ringing\r\nCall-ID: 1\r\nCSeq: 1 INVITE\r\n\r\n")},
			{Dir: up, At: 30 * ms, B: []byte("\r\n\r\n")},
			{Dir: down, At: 90 * ms, B: []byte("SIP/2.0 486 Busy Here\r\nCall-ID: 1\r\nCSeq: 1 INVITE\r\nTo: <sip:b@x>\r\n\r\n")},
		}, []finding.Code{"sip.request-failed"}, "INVITE <sip:b@x> 486", true, ""},
		{"syslog", proto.TCP, 601, "by length", hexes(">" + h("27 <165>1 2003-08-24T05:14:15Z25 <2>1 2003-08-24T05:14:15Z")), []finding.Code{"syslog.severe"}, "", false, ""},
		{"syslog", proto.TCP, 514, "by lines", hexes(">"+h("<165>Aug 24 05:14:15 host app: fine\n"), ">"+h("<1>Aug 24 05:14:16 host app: <0>no\n")), []finding.Code{"syslog.severe"}, "", false, ""},
		{"openvpn", proto.TCP, 1194, "answered", hexes("> 000e 38 0102030405060708 00 00000000", "< 001a 40 0807060504030201 01 00000000 0102030405060708 00000000", "> 0016 28 0102030405060708 01 00000000 0807060504030201"), nil, "", false, ""},
		{"kafka", proto.TCP, 9092, "not the leader", hexes("> 00000018 0000 0003 00000007 0002"+h("me")+"ffff 0001 00000bb8 00000000",
			"< 00000029 00000007 00000001 0001"+h("t")+"00000001 00000000 0006 ffffffffffffffff ffffffffffffffff 00000000"), []finding.Code{"kafka.request-failed"}, "Produce 6", true, ""},
		{"kafka", proto.TCP, 9092, "topic not known, compact", hexes("> 00000010 0003 0009 00000007 0002"+h("me")+"00 000000",
			"< 00000028 00000007 00 00000000 02 00000001 02"+h("b")+"00002384 00 00 00 00000001 02 0003 02"+h("x")+"00 01 80000000 00 00"), []finding.Code{"kafka.request-failed"}, "Metadata 3", true, ""},
		{"kafka", proto.TCP, 9092, "group rebalances", hexes("> 00000016 000c 0000 00000007 0002"+h("me")+"0001"+h("g")+"00000001 0001"+h("m"), "< 00000006 00000007 001b"), nil, "Heartbeat 27", false, ""},
		{"kafka", proto.TCP, 9092, "login refused, compact", hexes("> 00000012 0024 0002 00000007 0004"+h("test")+"00000000", "< 0000000b 00000007 00 003a 00 01 0000"), []finding.Code{"kafka.error"}, "SaslAuthenticate 58", true, "failed"},
		{"kafka", proto.TCP, 9092, "login refused", hexes("> 00000012 0024 0001 00000007 0004"+h("test")+"00000000", "< 0000000c 00000007 003a ffff 00000000"), []finding.Code{"kafka.error"}, "SaslAuthenticate 58", true, "failed"},
		{"tds", proto.TCP, 1433, "login refused", hexes("> 1001 0010 0000 0100 08000000 00000000", "< 0401 0015 0000 0100 aa 0a00 18480000 01 0e 0100 4100"), []finding.Code{"tds.login-failed"}, "login 18456", true, "failed"},
		{"tns", proto.TCP, 1521, "no such service", hexes("> 003a 0000 01 00 0000 0139"+strings.Repeat("00", 48), "< 0013 0000 04 00 0000 2200 0007"+h("(ERR=1)")), []finding.Code{"tns.refused"}, "connect refuse", true, ""},
		{"dnp3", proto.TCP, 20000, "function not supported", hexes("> 056408c401000200390d c0c014 ffff", "< 05640a440200010010f0 c0c081 0001 ffff"), []finding.Code{"dnp3.internal-indication"}, "", false, ""},
		{"kerberos", proto.UDP, 88, "wrong password", hexes("> 6a22 3020 a103020105 a20302010a a414 3012 a110 300e a003020101 a107 3005 1b03"+h("bob"), "< 7e11 300f a003020105 a10302011e a603020118"), []finding.Code{"kerberos.login-failed"}, "", false, "failed"},
		{"wg", proto.UDP, 51820, "no answer", hexes("> 01000000 00000001"+noise(140), "> 01000000 00000002"+noise(140)), []finding.Code{"wg.no-answer"}, "", false, ""},
		{"isakmp", proto.UDP, 500, "no proposal chosen", hexes("> 0102030405060708 0000000000000000 21 20 22 08 00000000 00000020 00000004", "< 0102030405060708 1112131415161718 29 20 22 20 00000000 00000024 00000008 0000000e"), []finding.Code{"isakmp.refused"}, "exchange ok", false, ""},
		{"udpencap", proto.UDP, 4500, "no proposal chosen, then ESP", hexes("> 00000000 0102030405060708 0000000000000000 21 20 22 08 00000000 00000020 00000004", "< 00000000 0102030405060708 1112131415161718 29 20 22 20 00000000 00000024 00000008 0000000e", "> ff", "> 01020304 00000001 "+noise(16)), []finding.Code{"isakmp.refused"}, "exchange ok", false, ""},
		{
			"cql", proto.TCP, 9042, "login refused",
			hexes("> 04 00 0000 01 00000016 0001 000b"+h("CQL_VERSION")+"0005"+h("3.0.0"), "< 84 00 0000 03 00000003 0001"+h("P"), "> 04 00 0000 0f 00000005 00000001 61",
				"< 84 00 0000 00 00000009 00000100 0003"+h("bad")),
			[]finding.Code{"cql.auth-failed"},
			"AUTH_RESPONSE 0x0100", true, "failed",
		},
		{
			"cql", proto.TCP, 9042, "unavailable, in frames of version 5",
			hexes("> 05 00 0000 01 00000016 0001 000b"+h("CQL_VERSION")+"0005"+h("3.0.0"), "< 85 00 0000 02 00000000",
				"> 110002 000000 05 00 0001 07 00000008 00000004"+h("SELE")+"00000000", "< 120002 000000 85 00 0001 00 00000009 00001000 0003"+h("few")+"00000000"),
			[]finding.Code{"cql.error"},
			"QUERY SELE 0x1000", true, "",
		},
		{
			"cql", proto.TCP, 9042, "an older version is asked for",
			hexes("> 05 00 0000 05 00000000", "< 84 00 0000 00 00000009 0000000a 0003"+h("ver"), "> 04 00 0000 05 00000000", "< 84 00 0000 06 00000002 0000"),
			nil, "OPTIONS ok", false, "",
		},
		{
			"diameter", proto.TCP, 3868, "not delivered",
			hexes("> 01 000040 c0 000110 00000004 00000011 00000011 00000107 40 000009 73 000000 0000011b 40 000013"+h("nowhere.net")+"00 00000108 40 000009 63 000000",
				"< 01 000038 20 000110 00000004 00000011 00000011 00000107 40 000009 73 000000 0000010c 40 00000c 00000bba 00000108 40 000009 64 000000"),
			[]finding.Code{"diameter.error"},
			"Credit-Control 3002", true, "",
		},
		{
			"diameter", proto.TCP, 3868, "unknown to 3GPP",
			hexes("> 01 000020 c0 00013c 01000023 00000011 00000011 00000107 40 000009 73 000000",
				"< 01 000040 40 00013c 01000023 00000011 00000011 00000107 40 000009 73 000000 00000129 40 000020 0000010a 40 00000c 000028af 0000012a 40 00000c 00001389"),
			[]finding.Code{"diameter.error"},
			"Update-Location 5001", true, "",
		},
		{
			"diameter", proto.TCP, 3868, "the server asks",
			hexes("< 01 000020 80 000118 00000000 00000011 00000011 00000108 40 000009 73 000000", "> 01 00002c 00 000118 00000000 00000011 00000011 00000108 40 000009 73 000000 0000010c 40 00000c 000007d1"),
			nil, "", false, "",
		},
		{
			"irc", proto.TCP, 6667, "wrong password", lines("> PASS x", "> NICK bob", "> USER bob 0 * :Bob", "< :irc.test NOTICE * :*** looking", "< :irc.test 464 bob :Password incorrect", "< ERROR :Closing Link: bob (Bad Password)"),
			[]finding.Code{"irc.refused", "irc.refused"},
			"login 464", true, "failed",
		},
		{
			"irc", proto.TCP, 6667, "name taken", lines("> NICK bob", "> USER bob 0 * :Bob", "< :irc.test 433 * bob :Nickname is already in use", "> NICK bob_", "< :irc.test 001 bob_ :Welcome", "> QUIT :bye", "< ERROR :Closing Link"),
			[]finding.Code{"irc.refused"},
			"login 001", false, "ok",
		},
		{"irc", proto.TCP, 6667, "killed", lines("> NICK bob", "> USER bob 0 * :Bob", "< :irc.test 001 bob :Welcome", "< ERROR :Closing Link: bob (Ping timeout)"), []finding.Code{"irc.closed"}, "login 001", false, "ok"},
		{
			"nntp", proto.TCP, 119, "login refused", lines("< 200 news.test NNRP Service Ready - posting ok", "> AUTHINFO USER bob", "< 381 more", "> AUTHINFO PASS x", "< 481 Authentication failed"),
			[]finding.Code{"nntp.login-failed"},
			"AUTHINFO PASS 481", true, "failed",
		},
		{
			"nntp", proto.TCP, 119, "article", lines("< 201 news.test NNTP", "> GROUP a.b", "< 211 2 1 2 a.b", "> ARTICLE 1", "< 220 1 <x@y>", "< From: me", "<  ", "< 502 is text.", "< .", "> ARTICLE 9", "< 423 no such article", "> QUIT", "< 205 bye"),
			nil, "ARTICLE 1 220", false, "",
		},
		{"nntp", proto.TCP, 119, "posting fails", lines("< 200 news.test NNTP", "> POST", "< 340 go", "> From: me", "> .", "< 441 no such group"), []finding.Code{"nntp.refused"}, "article 441", true, ""},
		{"tacplus", proto.TCP, 49, "login refused in clear", hexes("> c0 01 01 01 00000007 0000000d 01 00 02 01 03 02 00 00"+h("bobt0"), "< c0 01 02 01 00000007 00000008 02 00 0002 0000"+h("no")), []finding.Code{"tacacs.refused"}, "login FAIL", true, "failed"},
		{"tacplus", proto.TCP, 49, "only one hides", hexes("> c0 01 01 01 00000007 0000000d 01 00 02 01 03 02 00 00"+h("bobt0"), "< c0 01 02 00 00000007 00000006 a5a5a5a5a5a5"), []finding.Code{"tacacs.unencrypted-mismatch"}, "login ", false, ""},
		{"tacplus", proto.TCP, 49, "hidden", hexes("> c0 02 01 00 00000007 00000008 a5a5a5a5a5a5a5a5", "< c0 02 02 00 00000007 00000006 a5a5a5a5a5a5"), nil, "authorization ", false, ""},
		{
			"l2tp", proto.UDP, 1701, "not authorized",
			hexes("> c802 0014 0000 0000 0000 0000 8008 0000 0000 0001", "< c802 0028 0001 0000 0000 0001 8008 0000 0000 0004 8014 0000 0001 0004 0000"+h("not for you!")[:20]),
			[]finding.Code{"l2tp.refused"},
			"tunnel 4", true, "",
		},
		{"l2tp", proto.UDP, 1701, "cleared", hexes("> c802 0014 0000 0000 0000 0000 8008 0000 0000 0001", "< c802 0014 0001 0000 0000 0001 8008 0000 0000 0002",
			"> c802 001c 0001 0000 0001 0001 8008 0000 0000 0004 8008 0000 0001 0001"), nil, "tunnel ok", false, ""},
		{"l2tp", proto.UDP, 1701, "no answer", slow(1000*ms, hexes("> c802 0014 0000 0000 0000 0000 8008 0000 0000 0001", "> c802 0014 0000 0000 0000 0000 8008 0000 0000 0001")), []finding.Code{"l2tp.no-answer"}, "", false, ""},
		{"bfd", proto.UDP, 3784, "comes up late", slow(2000*ms, hexes(bfdDown, bfdDown, bfdDown, bfdDown, bfdDown, "> 20 c0 03 18 00000001 00000002 000f4240 000f4240 00000000")), nil, "", false, ""},
		{"bfd", proto.UDP, 3784, "never comes up", slow(2000*ms, hexes(bfdDown, bfdDown, bfdDown, bfdDown, bfdDown)), []finding.Code{"bfd.never-up"}, "", false, ""},
		{"bfd", proto.UDP, 3784, "down", hexes("> 20 c0 03 18 00000001 00000002 000f4240 000f4240 00000000", "> 21 40 03 18 00000001 00000002 000f4240 000f4240 00000000"), []finding.Code{"bfd.down"}, "", false, ""},
		{"rip", proto.UDP, 520, "withdrawn", hexes("> 0202 0000 0002 0000 c0a80200 ffffff00 00000000 00000002", "> 0202 0000 0002 0000 c0a80200 ffffff00 00000000 00000010"), []finding.Code{"rip.unreachable"}, "", false, ""},
		{"hsrp", proto.UDP, 1985, "takeover", hexes("> 00 00 08 03 0a 64 01 00"+h("cisco\x00\x00\x00")+"c0a80001", "> 00 00 10 03 0a 64 01 00"+h("cisco\x00\x00\x00")+"c0a80001"), []finding.Code{"hsrp.takeover"}, "", false, ""},
		{"snmp", proto.UDP, 161, "wrong password", hexes("> 3037020103300d020101020205dc0401040201030410300e0400020101020101040004000400301104000400a00b0201010201000201003000", "< 3052020103300d020101020205dc04010002010304153013040580000102030201010201010400040004003027040580000102030400a81c0201010201000201003011300f060a2b060106030f01010400410107", "> 3060020103300d020102020205dc04010502010304263024040580000102030201010201010405616c696365040caaaaaaaaaaaaaaaaaaaaaaaa04003024040580000102030400a019020102020100020100300e300c06082b060102010105000500", "< 3057020103300d020102020205dc040100020103041a3018040580000102030201010201010405616c696365040004003027040580000102030400a81c0201020201000201003011300f060a2b060106030f01010500410107"), []finding.Code{"snmp.rejected"}, "", false, ""},
		{"snmp", proto.UDP, 162, "link down", hexes("> 3023 020100 0406" + h("public") + "a416 0606 2b0601040109 4004 c6336405 020102 020100 430111 3000"), []finding.Code{"snmp.trap"}, "", false, ""},
		{"snmp", proto.UDP, 161, "error", hexes("> 3019 020100 0406"+h("public")+"a00c 020105 020100 020100 3001 05", "< 3019 020100 0406"+h("public")+"a20c 020105 020105 020100 3001 05"), []finding.Code{"snmp.error"}, "get genErr", true, ""},
		{"snmp", proto.UDP, 161, "no such instance", hexes("> 3029 020101 0406"+h("public")+"a01c 020105 020100 020100 3011 300f 060b 2b060102010202010288370500",
			"< 3029 020101 0406"+h("public")+"a21c 020105 020100 020100 3011 300f 060b 2b060102010202010288378100"), []finding.Code{"snmp.no-such-object"}, "get noSuchInstance", false, ""},
	}
}

// find returns the analyzer of a name for a carrier.
func find(tb testing.TB, name string, carrier proto.Transport) proto.Spec {
	tb.Helper()
	for _, s := range analyze.Protocols() {
		if s.Name == name && s.Carrier&carrier != 0 {
			return s
		}
	}
	tb.Fatalf("no analyzer %s", name)
	return proto.Spec{}
}

// fresh makes a conversation in which all declared codes are known: twins share
// them.
func fresh(spec proto.Spec, carrier proto.Transport, port uint16) *prototest.Conversation {
	c := prototest.New(spec, carrier, port)
	c.Rec.Declare(analyze.Defs()...)
	return c
}

func TestServices(t *testing.T) {
	t.Parallel()
	for _, d := range dialogues() {
		t.Run(d.spec+" "+d.what, func(t *testing.T) {
			t.Parallel()
			spec := find(t, d.spec, d.carrier)
			if len(d.steps) > 0 && spec.Probe(d.steps[0].Dir, d.steps[0].B) == proto.No && (len(d.steps) < 2 || spec.Probe(d.steps[1].Dir, d.steps[1].B) == proto.No) {
				t.Errorf("not recognised: % x", d.steps[0].B)
			}
			c := prototest.Run(t, fresh(spec, d.carrier, d.port), d.steps, proto.Over)
			if c.Err != nil || len(c.Rec.Bad) > 0 {
				t.Fatalf("detached: %v, malformed %q", c.Err, c.Rec.Bad)
			}
			var want []string
			for _, code := range d.codes {
				want = append(want, string(code))
			}
			if got := c.Rec.Codes(); !slices.Equal(got, want) {
				t.Errorf("codes %q, want %q", got, want)
			}
			d.check(t, c)
			if d.carrier == proto.TCP && d.spec != "ssh" { // there, sizes of segments are what is read
				prototest.EveryCut(t, func() *prototest.Conversation { return fresh(spec, d.carrier, d.port) }, d.steps)
			}
			prototest.EveryPrefix(t, func() *prototest.Conversation { return fresh(spec, d.carrier, d.port) }, d.steps)
		})
	}
}

func (d *dialogue) check(t *testing.T, c *prototest.Conversation) {
	t.Helper()
	if d.exchange != "" {
		var seen []string
		ok := false
		for i := range c.Rec.Exchanges {
			x := &c.Rec.Exchanges[i]
			text := x.Label + " " + x.Code
			seen = append(seen, text)
			ok = ok || text == d.exchange && x.Failed == d.failed && x.RespStart >= x.ReqEnd && x.RespFrame > x.ReqFrame
		}
		if !ok {
			t.Errorf("exchanges %q, want %q (failed %v)", seen, d.exchange, d.failed)
		}
	}
	login := ""
	for _, e := range c.Rec.Events {
		if l, ok := e.(*proto.Login); ok {
			login = map[bool]string{true: "ok", false: "failed"}[l.OK]
		}
	}
	if login != d.login {
		t.Errorf("login %q, want %q", login, d.login)
	}
}

// FuzzAnalyzers feeds every analyzer of conversations: the first byte chooses it.
func FuzzAnalyzers(f *testing.F) {
	specs := analyze.Protocols()
	for _, d := range dialogues() {
		for i := range specs {
			if specs[i].Name == d.spec && specs[i].Carrier&d.carrier != 0 {
				f.Add(byte(i), prototest.Seed(d.steps))
			}
		}
	}
	defs := analyze.Defs()
	f.Fuzz(func(t *testing.T, which byte, data []byte) {
		spec := specs[int(which)%len(specs)]
		carrier := proto.UDP
		switch {
		case spec.Carrier&proto.TCP != 0:
			carrier = proto.TCP
		case spec.Carrier&proto.UDP == 0:
			carrier = spec.Carrier
		}
		if spec.Probe != nil {
			for cut := range min(len(data), 80) {
				spec.Probe(up, data[:cut])
				spec.Probe(down, data[:cut])
			}
		}
		if carrier != proto.TCP && carrier != proto.UDP {
			return // need the packet around: see the corpus of captures
		}
		c := prototest.New(spec, carrier, 1)
		c.Rec.Declare(defs...)
		prototest.Hostile(t, c, data)
	})
}

func TestProbesAreStrict(t *testing.T) {
	t.Parallel()
	junk := [][]byte{
		nil,
		{0},
		[]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), []byte(strings.Repeat("\x00", 200)), []byte(strings.Repeat("\xff", 12)),
		[]byte("hello world, this is a line of a protocol of our own\r\n"), []byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
	}
	for _, s := range analyze.Protocols() {
		if s.Probe == nil || s.Carrier&(proto.TCP|proto.UDP) == 0 || s.Name == "http" || s.Name == "tls" {
			continue
		}
		for _, b := range junk {
			for _, dir := range []flow.Dir{up, down} {
				if v := s.Probe(dir, b); v == proto.Certain {
					t.Errorf("%s is certain of %.20q", s.Name, b)
				}
			}
		}
	}
}
