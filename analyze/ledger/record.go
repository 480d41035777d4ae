package ledger

import (
	"netwhy/analyze/conn"
	"netwhy/analyze/flow"
)

// record is what every conversation costs. No pointers: 168 bytes.
type record struct {
	conv    uint32
	talk    uint32    // number in Books.talks; 0: no payload and no trouble yet
	flags   uint32    // flag constants below
	syns    uint8     // SYNs, saturating
	synAcks uint8     // SYN-ACKs, saturating
	endTTL  uint8     // of the first RST
	endSide flow.Dir  // in whose name the first RST came
	first   uint64    // frame
	last    uint64    // frame
	end     uint64    // frame of the first RST, or of the FIN that closed; 0: none
	start   int64     // time of the first frame, ns
	stop    int64     // time of the last frame
	endAt   int64     // time of frame end
	synAck  int64     // time of the first SYN-ACK; 0: none
	ready   int64     // time at which the handshake was complete; 0: not
	wire    [2]uint64 // bytes on the wire, by direction
	bytes   [2]uint64 // payload bytes, by direction
	packets [2]uint32 // by direction
	mss     [2]uint16 // of the SYN and the SYN-ACK; 0: no option
	ttl     [2]uint8  // of the first frame
	scale   [2]int8   // window scale; -1: not offered
	print   [2]uint32 // fingerprint of the last segment, by direction

	// The client's first payload, until more comes: many connections of a busy
	// capture have no more than a request, and need no talk for it.
	askedAt    int64
	askedIn    uint64 // frame
	askedSeq   uint32 // in UDP: number in Books.queries; 0: no exchange yet
	askedAck   uint32
	askedLen   uint16 // 0: none
	askedWin   uint16
	askedID    uint16
	askedFirst uint8 // its first byte, if TLS's major version follows; else 0
	askedPush  bool
}

// Flags of a record. Those for a side are followed by the other side's bit.
const (
	flagUDP            = 1 << iota
	flagSYN            // a SYN was seen: start is its time
	flagMid            // begun before the capture
	flagKnown          // who is client was seen
	flagECN            // ECN was agreed
	flagECNSetup       // the client offered it
	flagFastOpen       // data in the SYN
	flagFastOpenFailed // which the SYN-ACK did not acknowledge
	flagEstablished    // complete handshake, or taken for granted
	flagRefused        // RST in answer to the SYN
	flagOverruled      // a SYN-ACK came after a RST had refused
	flagSnapped        // payload was cut by the snaplen
	flagSACK           // offered by the client
	flagSACKServer
	flagFin // sent by the client
	flagFinServer
	flagRst
	flagRstServer
	flagSeen // the client's segments were seen
	flagSeenServer
	flagOdd      // a segment had flags that no system sends
	flagCrossed  // the server sent a SYN of its own
	flagReused   // it began on the ports of an earlier one
	flagUnscaled // a SYN was cut by the snaplen before its window scale
	flagDoubt    // something was sent again or acknowledged twice
)

// side gives the flag of one direction.
func side(flag uint32, d flow.Dir) uint32 { return flag << (d & 1) }

// queries is the number in Books.queries of a UDP conversation.
func (r *record) queries() uint32 {
	if r.flags&flagUDP == 0 {
		return 0
	}
	return r.askedSeq
}

// unanswered reports whether the client sent SYNs and nothing came back. Whoever
// acknowledges something was answered, whether or not the tap saw it.
func (r *record) unanswered() bool {
	const syns = 255 // where syns saturates
	return r.flags&flagSYN != 0 && r.flags&flagSeenServer == 0 && r.flags&flagFin == 0 &&
		(r.packets[flow.ToServer] <= uint32(r.syns)+1 && r.flags&flagRst != 0 || r.packets[flow.ToServer] == uint32(r.syns) || r.syns == syns)
}

// tcpEnd tells how a TCP connection ended, as far as the record knows.
func (r *record) tcpEnd() conn.End {
	fins := r.flags & (flagFin | flagFinServer)
	switch {
	case r.flags&flagRefused != 0:
		return conn.EndRefused
	case r.flags&(flagRst|flagRstServer) != 0:
		return conn.EndReset
	case fins == flagFin|flagFinServer:
		return conn.EndFin
	case fins != 0:
		return conn.EndHalf
	}
	return conn.EndOpen
}
