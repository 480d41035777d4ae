package ledger

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
)

// shake is a handshake seen at the client, 20 ms from the server.
const shake = `
	0   c>s S
	20  s>c SA
	20  c>s A
`

// shakeServer is the same seen at the server.
const shakeServer = `
	0    c>s S ttl=60
	0    s>c SA ttl=64
	20   c>s A ttl=60
`

// shakeMiddle is seen between: 15 ms from the server, 5 ms from the client.
const shakeMiddle = `
	0    c>s S ttl=62
	15   s>c SA ttl=61
	20   c>s A ttl=62
`

// bulk writes n full segments of the server, ms apart, each acknowledged after rtt ms.
func bulkData(at, gap, rtt float64, n int) string {
	type ev struct {
		at   float64
		text string
	}
	var list []ev
	for i := range n {
		s := at + float64(i)*gap
		list = append(list, ev{s, fmt.Sprintf("%g s>c A len=1448 seq=%d", s, i*1448)})
		list = append(list, ev{s + rtt, fmt.Sprintf("%g c>s A ack=%d", s+rtt, (i+1)*1448)})
	}
	slices.SortStableFunc(list, func(a, b ev) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
	var b strings.Builder
	for _, e := range list {
		b.WriteString(e.text)
		b.WriteByte('\n')
	}
	return b.String()
}

type scenario struct {
	name   string
	script string
	worst  string // ledger of the worst exchange, or of all when none was bad
	want   map[finding.Code]map[string]float64
	words  map[finding.Code]map[string]string
	not    []finding.Code
	most   finding.Severity // nothing above it
}

type figureMap = map[finding.Code]map[string]float64

func scenarios() []scenario {
	return []scenario{
		{
			name: "the server thinks: its ACK came at once",
			script: shake + `
				21 c>s PA len=100
				41 s>c A
				1021 s>c PA len=500
				1021 c>s A`,
			worst: "connect=20 client_think=1 path=20 server_think=980",
			want:  figureMap{SlowServer: {"worst_seconds": 0.98, "ack_ms": 20, "proven": 1, "rtt_ms": 20, "slow": 1, "exchanges": 1}},
			most:  finding.Notice,
		},
		{
			name: "the same at the server's side of the path",
			script: shakeServer + `
				21 c>s PA len=100 ttl=60
				21 s>c A ttl=64
				1001 s>c PA len=500 ttl=64
				1021 c>s A ttl=60`,
			worst: "connect=20 client_think=1 server_think=980",
			want:  figureMap{SlowServer: {"worst_seconds": 0.98, "proven": 1}},
		},
		{
			name: "and between",
			script: shakeMiddle + `
				21 c>s PA len=100
				36 s>c A
				1016 s>c PA len=500
				1021 c>s A`,
			worst: "connect=20 client_think=1 path=15 server_think=980",
		},
		{
			name: "an answer with the ACK in it is quick",
			script: shake + `
				21 c>s PA len=100
				42 s>c PA len=500
				42 c>s A`,
			worst: "connect=20 client_think=1 path=20 server_think=1",
			not:   []finding.Code{SlowServer},
			most:  finding.Info,
		},
		{
			name: "a delayed ACK hides nothing",
			script: shake + `
				21 c>s PA len=100
				81 s>c A
				1021 s>c PA len=500`,
			worst: "connect=20 client_think=1 path=20 server_think=980",
		},
		{
			name: "mid-stream, acknowledged with a late answer: nobody can tell",
			script: `
				0 c>s PA len=100 seq=5000
				900 s>c PA len=500 seq=9000 ack=5100`,
			worst: "path=900",
			not:   []finding.Code{SlowServer},
			most:  finding.Info,
		},
		{
			name: "mid-stream, acknowledged early: the server",
			script: `
				0 c>s PA len=100 seq=5000
				30 s>c A seq=9000 ack=5100
				900 s>c PA len=500 ack=5100`,
			worst: "path=30 server_think=870",
			want:  figureMap{SlowServer: {"worst_seconds": 0.87, "proven": 1}},
		},
		{
			name: "an ACK far later than any delayed ACK: the way, not the server",
			script: shake + `
				21 c>s PA len=100
				1021 s>c A
				1031 s>c PA len=500`,
			worst: "connect=20 client_think=1 path=1000 server_think=10",
			not:   []finding.Code{SlowServer},
		},
		{
			name: "the request is lost: the wait is the loss",
			script: shake + `
				21 c>s PA len=100
				241 c>s PA len=100 seq=0
				261 s>c PA len=500`,
			worst: "connect=20 client_think=1 path=20 loss_stall=220",
			want:  figureMap{Loss: {"lost": 1, "to_server": 1, "stalled_seconds": 0.22}, Timeout: {"timeouts": 1, "longest_seconds": 0.22}},
			not:   []finding.Code{SlowServer},
		},
		{
			name: "a lost SYN costs its second",
			script: `
				0 c>s S
				1000 c>s S
				1020 s>c SA
				1020 c>s A
				1021 c>s PA len=100
				1041 s>c PA len=500`,
			worst: "connect=20 client_think=1 path=20 loss_stall=1000",
			want:  figureMap{SYNRetry: {"syns": 2, "stalled_seconds": 1, "answered": 1}},
			not:   []finding.Code{NoAnswer},
		},
		{
			name: "the server speaks first, late",
			script: shake + `
				2040 s>c PA len=40
				2040 c>s A
				2041 c>s PA len=10
				2061 s>c PA len=10`,
			worst: "connect=20 path=20 server_think=2000",
			want:  figureMap{SlowServer: {"greeting": 1, "worst_seconds": 2}},
		},
		{
			name: "the tail of an answer is lost, seen at the sender",
			script: shakeServer + `
				21 c>s PA len=100
				22 s>c A len=1448
				22 s>c PA len=500 seq=1448
				42 c>s A ack=1448
				262 s>c PA len=500 seq=1448
				282 c>s A ack=1948`,
			worst: "connect=20 client_think=1 server_think=1 loss_stall=220 transfer=20",
			want:  figureMap{Loss: {"lost": 1, "to_client": 1}, Timeout: {"timeouts": 1}},
		},
		{
			name: "the same seen at the receiver, by the IP IDs",
			script: shake + `
				21 c>s PA len=100
				42 s>c A id=500
				42 s>c A len=1448 id=501
				42 s>c A len=1448 id=502
				42 c>s A
				43 s>c A len=1448 id=503
				43 s>c A len=1448 id=504
				43 s>c A len=1448 id=505
				43 c>s A
				# 506 does not arrive: 507 is the same sent again
				283 s>c PA len=500 id=507
				283 c>s A`,
			worst: "connect=20 client_think=1 path=20 server_think=1 loss_stall=240 transfer=1",
			want:  figureMap{Loss: {"lost": 1, "stalled_seconds": 0.24}},
		},
		{
			name: "the server pauses in its answer",
			script: shake + `
				21 c>s PA len=100
				41 s>c A len=1448
				41 s>c A len=1448
				41 c>s A
				841 s>c PA len=500
				841 c>s A`,
			worst: "connect=20 client_think=1 path=20 sender_idle=780 transfer=20",
			want:  figureMap{ServerPauses: {"paused_seconds": 0.78, "certain": 1}},
		},
		{
			name: "waits for a congestion window are the path's",
			script: shake + `
				21 c>s PA len=100
				41 s>c A len=1448
				41 s>c A len=1448
				41 c>s A
				61 s>c A len=1448
				61 s>c A len=1448
				61 c>s A
				81 s>c PA len=500
				81 c>s A`,
			worst: "connect=20 client_think=1 path=20 transfer=40",
			most:  finding.Info,
		},
		{
			name: "what the server says after a second of silence is another message",
			script: shake + `
				21 c>s PA len=100
				41 s>c PA len=300
				41 c>s A
				25041 s>c PA len=300
				25041 c>s A`,
			worst: "connect=20 client_think=1 path=20",
			not:   []finding.Code{SlowServer},
			most:  finding.Info,
		},
		{
			name: "a client that has nothing to ask is not slow",
			script: shake + `
				21 c>s PA len=100
				41 s>c PA len=300
				41 c>s A
				60041 c>s PA len=100
				60061 s>c PA len=300
				60061 c>s A`,
			worst: "connect=20 client_think=60001 path=40",
			not:   []finding.Code{SlowClient, SlowServer, ClientPauses},
			most:  finding.Info,
		},
		{
			name: "a client with pauses of one length between requests",
			script: shake + `
				21 c>s PA len=100; 41 s>c PA len=300; 41 c>s A
				2041 c>s PA len=100; 2061 s>c PA len=300; 2061 c>s A
				4061 c>s PA len=100; 4081 s>c PA len=300; 4081 c>s A
				6081 c>s PA len=100; 6101 s>c PA len=300; 6101 c>s A`,
			want: figureMap{ClientPauses: {"pauses": 3, "paused_seconds": 6, "median_seconds": 1.999, "variation": 0, "same_size": 1}},
			most: finding.Info,
		},
		{
			name: "a client that pauses in its upload",
			script: shake + `
				21 c>s A len=1448; 41 s>c A
				1541 c>s A len=1448; 1561 s>c A
				3061 c>s PA len=1448; 3081 s>c A
				3082 s>c PA len=100; 3082 c>s A`,
			worst: "connect=20 client_think=1 request_send=40 path=20 server_think=1 sender_idle=3000",
			want:  figureMap{SlowClient: {"pauses": 2, "paused_seconds": 3, "certain": 0}},
		},
		{
			name: "a receiver that closes its window",
			script: shake + `
				21 c>s PA len=100
				41 s>c A len=1448
				41 c>s A win=0
				241 s>c A seq=1447
				241 c>s A win=0
				1041 c>s A win=1000
				1061 s>c PA len=1448
				1061 c>s A win=1000`,
			worst: "connect=20 client_think=1 path=20 window_stall=1020",
			want:  figureMap{ZeroWindow: {"stalled_seconds": 1.02, "times": 1, "probes": 1, "by_server": 0, "closed_seconds": 1}},
			words: map[finding.Code]map[string]string{ZeroWindow: {"side": SideClient}},
		},
		{
			name: "a closed window that nobody waits for",
			script: shake + `
				21 c>s PA len=100
				41 s>c PA len=1448
				41 c>s A win=0
				1041 c>s A win=1000
				1042 c>s FA
				1062 s>c FA`,
			want: figureMap{ZeroWindow: {"stalled_seconds": 0, "closed_seconds": 1}},
			most: finding.Info,
		},
		{
			name:   "a small window sets the rate",
			script: smallShake(shakeServer) + smallWindow(),
			want:   figureMap{SmallWindow: {"by_server": 0, "window": 2944, "rtt_ms": 20}},
			not:    []finding.Code{ZeroWindow},
		},
		{
			name:   "the small window seen at the receiver",
			script: smallShake(shake) + smallWindowReceiver(),
			want:   figureMap{SmallWindow: {"by_server": 0, "window": 2944, "rtt_ms": 20}},
		},
		{
			name:   "refused",
			script: `0 c>s S; 20 s>c RA ttl=60`,
			want:   figureMap{Refused: {"after_ms": 20, "ttl": 60, "hops": 4}},
			not:    []finding.Code{NoAnswer, Reset, OneSided},
		},
		{
			name:   "no answer",
			script: `0 c>s S; 1000 c>s S; 3000 c>s S`,
			want:   figureMap{NoAnswer: {"syns": 3, "waited_seconds": 3}, SYNRetry: {"answered": 0}},
		},
		{
			name: "a RST in a capture begun mid-connection is no refusal",
			script: `
				0 c>s PA len=10 seq=500
				20 s>c RA seq=900 ack=510`,
			not: []finding.Code{Refused},
		},
		{
			name: "a RST with a TTL of its own",
			script: shake + `
				21 c>s PA len=100
				22 s>c RA ttl=119
				41 s>c PA len=300 seq=0`,
			want: figureMap{
				ResetInjected: {"ttl": 119, "peer_ttl": 60, "ttl_differs": 1, "by_server": 1},
				Reset:         {"mid_transfer": 1},
			},
		},
		{
			name: "a RST that closes a finished exchange",
			script: shake + `
				21 c>s PA len=100
				41 s>c PA len=300
				41 c>s A
				1041 c>s RA`,
			want: figureMap{Reset: {"mid_transfer": 0, "by_server": 0}},
			not:  []finding.Code{ResetInjected, ResetAfterIdle},
			most: finding.Info,
		},
		{
			name: "the client goes away in the middle of the answer",
			script: shake + `
				21 c>s PA len=100
				41 s>c A len=1448; 41 s>c A len=1448; 41 c>s A
				45 c>s FA
				61 s>c A len=1448; 61 c>s R seq=101`,
			want:  figureMap{Reset: {"mid_transfer": 1, "by_server": 0, "fin_before": 1}},
			words: map[finding.Code]map[string]string{Reset: {"phase": PhaseLateData}},
		},
		{
			name:   "a scanner's own stack resets what its raw SYN opened",
			script: `0 c>s S ttl=38; 20 s>c SA; 20 c>s R ttl=64 id=0 seq=0`,
			not:    []finding.Code{ResetInjected, Refused},
		},
		{
			name: "missing in the capture only",
			script: shake + `
				21 c>s PA len=100
				41 s>c A len=1448
				41 s>c PA len=1448 seq=2896
				41 c>s A ack=4344`,
			want: figureMap{CaptureGap: {"gaps": 1, "bytes": 1448}},
			not:  []finding.Code{Loss},
			most: finding.Info,
		},
		{
			name: "a client that only tells is not answered and nobody waits",
			script: shake + `
				21 c>s PA len=100; 41 s>c A
				5021 c>s PA len=100; 5041 s>c A
				10021 c>s PA len=100; 10041 s>c A
				10100 c>s FA; 10120 s>c FA; 10120 c>s A`,
			not:  []finding.Code{SlowServer, NoResponse},
			most: finding.Notice,
		},
		{
			name: "small words of the client during a download change nothing",
			script: shake + `
				21 c>s PA len=100
				41 s>c A len=1448; 41 s>c A len=1448; 41 c>s A
				45 c>s PA len=13
				50 s>c A len=1448 ack=100; 50 c>s A
				61 s>c A len=1448 ack=100; 61 c>s A
				62 c>s PA len=13
				70 s>c PA len=1448 ack=113; 70 c>s A`,
			worst: "connect=20 client_think=1 path=33 transfer=11",
			not:   []finding.Code{SlowServer, SlowClient, ServerPauses},
			most:  finding.Info,
		},
		{
			name: "pipelined requests",
			script: shake + `
				21 c>s PA len=100; 22 c>s PA len=100; 23 c>s PA len=100
				43 s>c PA len=500; 44 s>c PA len=500; 45 s>c PA len=500; 45 c>s A`,
			worst: "connect=20 client_think=1 request_send=2 path=20 transfer=2",
			most:  finding.Info,
		},
		{
			name: "the server forgot the connection",
			script: shake + `
				21 c>s PA len=100
				41 s>c PA len=300
				41 c>s A
				5041 c>s PA len=100
				5061 s>c R seq=300`,
			want: figureMap{ResetAfterIdle: {"idle_seconds": 5, "answer_ms": 20, "ttl_differs": 0, "by_server": 1, "requests": 1}},
			not:  []finding.Code{ResetInjected},
		},
		{
			name: "its RST when it went away did not arrive, the next one answers",
			script: shakeServer + `
				21 c>s PA len=100 ttl=60
				22 s>c PA len=300 ttl=64
				42 c>s A ttl=60
				1622 s>c RA ttl=64
				5322 c>s PA len=12 ttl=60
				5322 s>c R seq=300 ttl=64`,
			want: figureMap{ResetAfterIdle: {"idle_seconds": 3.7, "answer_ms": 0, "by_server": 1, "ttl_differs": 0}},
		},
		{
			name: "a box forgot it and answers in the server's name",
			script: shake + `
				21 c>s PA len=100
				41 s>c PA len=300
				41 c>s A
				5041 c>s PA len=100
				5041.1 s>c R seq=300 ttl=61`,
			want: figureMap{ResetAfterIdle: {"ttl_differs": 1, "answer_ms": 0.1}},
		},
		{
			name: "after silence nothing comes back",
			script: shake + `
				21 c>s PA len=100
				41 s>c PA len=300
				41 c>s A
				8041 c>s PA len=50
				8261 c>s PA len=50 seq=100
				8701 c>s PA len=50 seq=100
				9581 c>s PA len=50 seq=100`,
			want: figureMap{Unanswered: {"idle_seconds": 8, "attempts": 4, "segment_bytes": 50, "passed_bytes": 100, "by_server": 1}},
			not:  []finding.Code{PMTUBlackHole},
		},
		{
			name: "keep-alives without answer",
			script: shake + `
				21 c>s PA len=100
				41 s>c PA len=300
				41 c>s A
				3041 c>s A seq=99
				4041 c>s A seq=99
				5041 c>s A seq=99
				6041 c>s R seq=100`,
			want:  figureMap{KeepAliveDead: {"probes": 3, "idle_seconds": 3, "by_server": 1}},
			words: map[finding.Code]map[string]string{KeepAliveDead: {"ended": EndedReset}},
		},
		{
			name: "keep-alives with answers",
			script: shake + `
				21 c>s PA len=100; 41 s>c PA len=300; 41 c>s A
				3041 c>s A seq=99; 3061 s>c A
				6041 c>s A seq=99; 6061 s>c A
				9041 c>s FA; 9061 s>c FA; 9061 c>s A`,
			not:  []finding.Code{KeepAliveDead},
			most: finding.Info,
		},
		{
			name: "full segments never pass",
			script: shakeServer + `
				21 c>s PA len=100
				22 s>c A len=244
				22 s>c A len=1448
				22 s>c A len=1448
				42 c>s A ack=244
				242 s>c A len=1448 seq=244
				702 s>c A len=1448 seq=244
				1602 s>c A len=1448 seq=244
				3402 s>c A len=1448 seq=244`,
			want:  figureMap{PMTUBlackHole: {"stuck_bytes": 1448, "passed_bytes": 244, "by_server": 1}},
			words: map[finding.Code]map[string]string{PMTUBlackHole: {"side": SideServer}},
		},
		{
			name: "full segments never arrive",
			script: shake + `
				21 c>s PA len=100
				41 s>c PA len=244
				41 c>s A
				12041 c>s FA
				12061 s>c A seq=17000`,
			want: figureMap{PMTUBlackHole: {"stuck_bytes": 0, "passed_bytes": 244, "by_server": 1, "stalled_seconds": 12.02}},
		},
		{
			name: "the answer never comes",
			script: shake + `
				21 c>s PA len=500 first=22
				41 s>c A
				6041 c>s FA
				6061 s>c A`,
			want:  figureMap{NoResponse: {"acked": 1, "tls": 1, "ack_ms": 20, "closed_by_server": 0}},
			words: map[finding.Code]map[string]string{NoResponse: {"ended": EndedClosed}},
		},
		{
			name: "one direction only",
			script: `
				0 s>c SA
				41 s>c A ack=100
				42 s>c PA len=300 ack=100
				43 s>c FA ack=101`,
			want:  figureMap{OneSided: {"packets": 4, "worked": 1, "acked_bytes": 101}},
			words: map[finding.Code]map[string]string{OneSided: {"side": SideServer}},
			not:   []finding.Code{NoAnswer, NoResponse, Refused, SlowServer},
			most:  finding.Info,
		},
		{
			name: "the other direction only",
			script: `
				0 c>s S; 20 c>s A ack=0; 21 c>s PA len=100 ack=0; 41 c>s A ack=300; 5000 c>s A ack=600`,
			want:  figureMap{OneSided: {"packets": 5, "worked": 1, "acked_bytes": 600}},
			words: map[finding.Code]map[string]string{OneSided: {"side": SideClient}},
			not:   []finding.Code{NoAnswer, SYNRetry},
		},
		{
			name:   "a rate plateau with a queue",
			script: shakeServer + plateau(),
			want:   figureMap{RatePlateau: {"by": 0}},
		},
		{
			name: "the network card fills the checksums in",
			script: `
				0 c>s S bad; 20 s>c SA; 20 c>s A bad
				21 c>s PA len=100 bad; 41 s>c PA len=100; 41 c>s A bad`,
			want:  figureMap{ChecksumOffload: {"segments": 4}},
			words: map[finding.Code]map[string]string{ChecksumOffload: {"side": SideClient}},
			not:   []finding.Code{BadChecksum},
			most:  finding.Info,
		},
		{
			name: "a damaged segment is dropped and sent again",
			script: shake + `
				21 c>s PA len=100; 41 s>c A
				42 s>c A len=1448; 42 s>c A len=1448 bad; 42 s>c A len=1448; 42 s>c A len=1448
				42 c>s A ack=1448; 42 c>s A ack=1448 sack=2896-4344; 42 c>s A ack=1448 sack=2896-5792
				62 s>c A len=1448 seq=1448
				62 c>s A ack=5792`,
			want:  figureMap{BadChecksum: {"segments": 1, "resent": 1}, Loss: {"lost": 1}},
			words: map[finding.Code]map[string]string{BadChecksum: {"direction": SideClient}},
		},
		{
			name: "data in the SYN that the server does not take",
			script: `
				0 c>s S len=100
				20 s>c SA ack=0
				20 c>s PA len=100 seq=0 ack=0
				40 s>c A
				41 s>c PA len=300`,
			want: figureMap{FastOpenFailed: {}},
		},
		{
			name: "an original that comes after its repetition is late, not lost",
			script: shake + `
				21 c>s PA len=100
				41 s>c A len=1448 id=500
				41 c>s A
				42 s>c A len=1448 seq=2896 id=502
				42 c>s A ack=1448 sack=2896-4344
				42 s>c A len=1448 seq=4344 id=503
				42 c>s A ack=1448 sack=2896-5792
				63 s>c A len=1448 seq=1448 id=505
				63 c>s A ack=5792
				66 s>c A len=1448 seq=1448 id=501
				66 c>s A ack=5792 sack=1448-2896`,
			want: figureMap{OutOfOrder: {"segments": 1, "lost": 0}},
			not:  []finding.Code{Loss},
		},
		{
			name: "captured after their acknowledgement",
			script: shake + `
				21 c>s PA len=100
				41 s>c A len=1448; 41 c>s A ack=1448
				42 s>c A len=1448 seq=4344; 42 c>s A ack=5792
				43 s>c A len=1448 seq=1448; 43 s>c A len=1448 seq=2896
				44 s>c PA len=1448 seq=5792; 44 c>s A ack=7240`,
			want: figureMap{CapturedLate: {"segments": 2}},
			not:  []finding.Code{CaptureGap, Loss, Retransmission},
		},
		{
			name: "other bytes for the same numbers",
			script: shake + `
				21 c>s PA len=100 first=9
				22 c>s PA len=100 seq=0 first=8
				41 s>c PA len=50`,
			want: figureMap{Overlap: {"segments": 1, "by_server": 0}},
		},
		{
			name: "the same bytes again contradict nothing",
			script: shake + `
				21 c>s PA len=100 first=9
				300 c>s PA len=100 seq=0 first=9
				320 s>c PA len=50`,
			not: []finding.Code{Overlap},
		},
		{
			name: "one wrong checksum among right ones is no offload",
			script: shake + `
				21 c>s PA len=100
				41 s>c PA len=10 bad; 41 c>s A
				42 s>c PA len=10; 42 c>s A
				43 s>c PA len=10; 43 c>s A`,
			want: figureMap{BadChecksum: {"segments": 1}},
			not:  []finding.Code{ChecksumOffload},
		},
		{
			name:   "a FIN that acknowledges nothing",
			script: "0 c>s F; 1 s>c RA",
			want:   figureMap{OddFlags: {"answered": 1}},
		},
		{
			name:   "a SYN in answer to a SYN",
			script: "0 c>s S; 1 s>c S; 2 c>s SA; 3 s>c A; 4 c>s PA len=10; 5 s>c A",
			want:   figureMap{CrossedSYNs: {"answered": 1, "established": 1}},
		},
		{
			name: "the SYN-ACK is not in the capture",
			script: `
				0 c>s S; 20 c>s A ack=0; 21 c>s PA len=100 ack=0; 41 s>c PA len=100; 41 c>s A`,
			want: figureMap{CaptureGap: {"gaps": 1}},
		},
		{
			name:   "a window that is used up without a burst of its size",
			script: smallShake(shake) + trickle(),
			want:   figureMap{SmallWindow: {"window": 2944, "by_server": 0}},
		},
		{
			name: "segments larger than any packet: taken on the host",
			script: shakeServer + `
				21 c>s PA len=100; 21 s>c A
				22 s>c PA len=14480; 42 c>s A`,
			want: figureMap{LargeSegments: {"max_bytes": 14480, "mss": 1460}},
			most: finding.Info,
		},
	}
}

// smallShake is a handshake whose client has a window of 2944 bytes.
func smallShake(text string) string {
	return strings.Replace(text, "c>s A", "c>s A win=23", 1)
}

func smallWindow() string {
	var b strings.Builder
	b.WriteString("21 c>s PA len=100 win=23\n")
	at := 22.0
	for i := range 40 {
		fmt.Fprintf(&b, "%g s>c A len=1448 seq=%d\n%g s>c A len=1448 seq=%d\n", at, i*2896, at, i*2896+1448)
		fmt.Fprintf(&b, "%g c>s A ack=%d win=23\n", at+20, (i+1)*2896)
		at += 20.01
	}
	return b.String()
}

func smallWindowReceiver() string {
	var b strings.Builder
	b.WriteString("21 c>s PA len=100 win=23\n")
	at := 42.0
	for i := range 40 {
		fmt.Fprintf(&b, "%g s>c A len=1448 seq=%d\n%g c>s A ack=%d win=12\n", at, i*2896, at, i*2896+1448)
		fmt.Fprintf(&b, "%g s>c A len=1448 seq=%d\n", at+0.01, i*2896+1448)
		fmt.Fprintf(&b, "%g c>s A ack=%d win=23\n", at+0.02, (i+1)*2896)
		at += 20.01
	}
	return b.String()
}

// trickle sends the small window in two segments, 3 ms apart, each round trip.
func trickle() string {
	var b strings.Builder
	b.WriteString("21 c>s PA len=100 win=23\n")
	at := 42.0
	for i := range 60 {
		for k := range 2 {
			fmt.Fprintf(&b, "%g s>c A len=1448 seq=%d\n", at+3*float64(k), (2*i+k)*1448)
			fmt.Fprintf(&b, "%g c>s A ack=%d win=23\n", at+3*float64(k), (2*i+k+1)*1448)
		}
		at += 20.01
	}
	return b.String()
}

func plateau() string {
	return "21 c>s PA len=100\n" + bulkData(22, 10, 200, 300)
}

func TestScenarios(t *testing.T) {
	t.Parallel()
	for _, c := range scenarios() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := played(t, c.script)
			if c.worst != "" {
				l := &w.sum.Parts // of all exchanges, when none was bad enough to be kept
				if w.sum.Worst != nil {
					l = &w.sum.Worst.Ledger
				}
				if got := ledgerText(l); got != c.worst {
					t.Errorf("ledger\n got %s\nwant %s", got, c.worst)
				}
			}
			for code, values := range c.want {
				if len(values) == 0 {
					if _, ok := w.found[code]; !ok {
						t.Errorf("no %s; there is %s", code, w.codes())
					}
				}
				for name, want := range values {
					if name == "by" {
						name = "rate_mbps"
						want = w.value(code, name)
					}
					if got := w.value(code, name); math.Abs(got-want) > 2e-6 {
						t.Errorf("%s.%s: got %v, want %v", code, name, got, want)
					}
				}
			}
			for code, values := range c.words {
				for name, want := range values {
					if got := w.word(code, name); got != want {
						t.Errorf("%s.%s: got %q, want %q", code, name, got, want)
					}
				}
			}
			for _, code := range c.not {
				if f, ok := w.found[code]; ok {
					t.Errorf("%s, but: %+v", code, f)
				}
			}
			if c.most > 0 || c.not != nil {
				for code, f := range w.found {
					if f.Severity > max(c.most, finding.Notice) && c.most > 0 {
						t.Errorf("%s is %s", code, f.Severity)
					}
				}
			}
		})
	}
}

func TestVantage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, script, want string }{
		{"client, by its TTL", shake, conn.AtClient},
		{"server, by its TTL", shakeServer, conn.AtServer},
		{"between", shakeMiddle, conn.Between},
		{"one LAN, by the halves", "0 c>s S ttl=64; 5 s>c SA ttl=64; 5.01 c>s A ttl=64", conn.AtClient},
		{"one LAN, no telling", "0 c>s S ttl=64; 0.1 s>c SA ttl=64; 0.2 c>s A ttl=64", ""},
		{"no answer, untouched", "0 c>s S ttl=64; 1000 c>s S ttl=64", conn.AtClient},
		{"no answer, from afar", "0 c>s S ttl=51; 1000 c>s S ttl=51", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := played(t, c.script).sum.Vantage; got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
