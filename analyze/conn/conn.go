// Package conn describes what is known of a conversation when it is folded into
// its summary: its ends, figures, exchanges and the ledger of their time. It is
// plain data that analyzers fill, rules judge and reports print.
package conn

import (
	"net/netip"

	"netwhy/analyze/flow"
)

// Part is one account of the time ledger: every nanosecond of an exchange is
// given to exactly one part.
type Part uint8

// Parts of the ledger, in the order of the report.
const (
	DNS         Part = iota // the lookup before the connection
	Connect                 // SYN to the end of the handshake
	TLS                     // ClientHello to the end of the TLS handshake
	ClientThink             // the client had its last answer (or connection) and asked nothing
	RequestSend             // first to last byte of the request
	Path                    // one round trip that the request and the first byte of the answer need
	ServerThink             // request complete at the server, answer not begun
	LossStall               // waiting for a retransmission
	WindowStall             // waiting for the receiver's window to open
	SenderIdle              // answer begun, window open, nothing lost, nothing sent
	Transfer                // bytes of the answer arriving
	Parts                   // number of parts
)

// PartNames are the JSON keys of the parts, indexed by Part.
var PartNames = [Parts]string{ //nolint:gochecknoglobals // constant table
	"dns", "connect", "tls", "client_think", "request_send", "path", "server_think",
	"loss_stall", "window_stall", "sender_idle", "transfer",
}

// Ledger is the time of one exchange, split. Parts add up to Total exactly.
type Ledger struct {
	Total int64        // nanoseconds
	Part  [Parts]int64 // nanoseconds, indexed by Part
}

// Add gives ns to a part and to the total.
func (l *Ledger) Add(p Part, ns int64) {
	l.Part[p] += ns
	l.Total += ns
}

// Largest returns the largest avoidable part: everything but Path, and Transfer
// and Connect only where nothing else took time.
func (l *Ledger) Largest() (Part, int64) {
	best, ns := Transfer, int64(-1)
	for p := range Parts {
		if p != Path && p != Transfer && p != Connect && l.Part[p] > ns && l.Part[p] > 0 {
			best, ns = p, l.Part[p]
		}
	}
	if ns < 0 {
		return Transfer, l.Part[Transfer]
	}
	return best, ns
}

// Exchange is one request and its response.
type Exchange struct {
	Flow      flow.ID
	Protocol  string // "http", "dns", ... or "tcp" for a turn of unknown content
	Label     string // what was asked, from the packets: hostile ("GET /x")
	Code      string // the protocol's own result code ("503", "NXDOMAIN", "57014")
	Failed    bool   // the code means failure
	Complete  bool   // the response ended
	ReqStart  int64  // ns since 1970 UTC; of the first byte of the request
	ReqEnd    int64  // of its last byte
	RespStart int64  // of the first byte of the response; 0: none came
	RespEnd   int64
	ReqFrame  uint64 // first frame of the request
	ReqLast   uint64 // last frame of the request
	AckFrame  uint64 // first frame that acknowledges the whole request; 0: none seen
	AckTime   int64
	RespFrame uint64 // first frame of the response; 0: none
	RespLast  uint64
	ReqBytes  uint64
	RespBytes uint64
	Ledger    Ledger
}

// End is how a conversation ended.
type End string

// Ends of a conversation.
const (
	EndOpen      End = "open"      // still open when the capture ended
	EndFin       End = "fin"       // both sides closed
	EndHalf      End = "half"      // one side closed
	EndReset     End = "reset"     // by a RST
	EndRefused   End = "refused"   // RST in answer to the SYN
	EndNoAnswer  End = "no-answer" // SYNs without answer
	EndIdle      End = "idle"      // expired
	EndICMPError End = "icmp"      // an ICMP error ended it before it was established
)

// Side is what one end of a connection sent. Its fields stand by their width: those of
// ten thousand conversations are kept.
type Side struct {
	Addr           netip.AddrPort
	Packets, Bytes uint64 // frames and payload bytes (retransmissions included)
	WireBytes      uint64
	NetBytes       uint64 // bytes of the IP packets; 0: not gathered (analyze.Options.Diary)
	Unique         uint64 // payload bytes without retransmissions
	Retransmitted  uint64 // payload bytes sent again
	Missing        uint64 // payload bytes acknowledged by the other side that are not in the capture
	RTT            RTT    // of this side's data to the other's acknowledgement, seen at the tap
	ZeroWindowTime int64  // ns during which this side announced a window of zero
	LossStall      int64  // ns during which this side's stream waited for a retransmission
	RstFrame       uint64
	Retransmits    uint32 // segments sent again (all kinds)
	FastRetrans    uint32
	Spurious       uint32
	OutOfOrder     uint32
	LostSegments   uint32 // gaps seen: previous segment not captured
	Lost           uint32 // segments that the path lost, as far as the tap can tell
	Gaps           uint32 // times that the other side acknowledged what is not in the capture
	DupAcks        uint32
	ZeroWindows    uint32
	WindowFulls    uint32
	KeepAlives     uint32
	Timeouts       uint32 // retransmission timeouts
	MinWindow      uint32
	MaxWindow      uint32 // scaled, bytes
	MaxInFlight    uint32 // bytes
	MaxSegment     uint32 // largest payload of one frame
	BadChecksums   uint32
	MSS            uint16
	MAC            [6]byte // source MAC of its frames; zero: none in this link type
	WindowScale    int8    // -1: not offered or unknown
	SACK           bool
	TTL            uint8 // of the first frame
	Fin, Rst       bool
}

// RTT is a summary of round-trip samples in nanoseconds (Karn's rule applied).
type RTT struct {
	Samples                       uint32
	Min, Median, P95, Max, Jitter int64
}

// Summary is a conversation, folded. Pointers come first, then the widest fields: of the
// many that are kept the garbage collector then reads the beginning, and none has holes.
type Summary struct {
	Proto       string // "tcp" or "udp"
	CommunityID string // empty where nobody asked for it yet: it costs a hash (flow.CommunityID)
	Realm       string // VLAN and tunnel, for people: "vlan 12", "vxlan 7"; empty in the plain case
	End         End
	App         string            // protocol found on it: "http", "tls", ...; empty: none recognised
	Name        string            // server name known from SNI, HTTP Host or DNS; hostile
	Attr        map[string]string // facts of analyzers: "ja3", "alpn", "tls.version", ...; hostile
	Worst       *Exchange         // the exchange that took longest by avoidable time
	Vantage     string            // where the tap is: client, server, middle; empty: unknown
	History     string            // what happened first in which order, in Zeek's letters; empty: not gathered (analyze.Options.Diary)
	Client      Side
	Server      Side
	First, Last uint64 // frames
	Start, Stop int64  // ns since 1970 UTC
	// Handshake: round trip and its halves as the tap sees them, ns; 0 unknown.
	Handshake       int64
	HandshakeServer int64 // SYN to SYN-ACK
	HandshakeClient int64 // SYN-ACK to ACK
	Lookup          int64 // ns that the name lookup took which the connection waited for; 0: none seen
	EndFrame        uint64
	Parts           Ledger // time of all exchanges and of the client's pauses between them
	Copies          uint64 // frames that a mirror port copied
	Score           int64  // ns lost by avoidable parts: ranks the worst connections
	ID              flow.ID
	SYNs            uint32
	Exchanges       uint32
	FailedExchanges uint32
	Turns           uint32
	Findings        uint32 // of this conversation
	ClientKnown     bool   // who is client was seen (SYN), not guessed
	Established     bool
	MidStream       bool // the capture begins inside it
	OneSided        bool // only one direction was captured
	ECN             bool
	Offload         bool // segments above the MTU, or checksums left to the NIC
}

// Brief is what is left of a conversation with findings for whose Summary there
// was no room: enough to judge most findings, not enough to tell its story.
type Brief struct {
	ID              flow.ID
	Client, Server  netip.AddrPort
	App             string
	Established     bool
	FailedExchanges uint32
	Packets, Bytes  uint64 // frames and payload bytes in both directions
}

// Brief is the summary in short.
func (s *Summary) Brief() Brief {
	return Brief{
		ID: s.ID, Client: s.Client.Addr, Server: s.Server.Addr, App: s.App, Established: s.Established, FailedExchanges: s.FailedExchanges,
		Packets: s.Client.Packets + s.Server.Packets, Bytes: s.Client.Bytes + s.Server.Bytes,
	}
}

// Proto is the name of the transport, as in a Summary.
func (b *Brief) Proto() string {
	if b.ID.Proto == flow.TCP {
		return "tcp"
	}
	return "udp"
}
