package assigned

import (
	"bytes"
	"encoding/binary"

	"netwhy/analyze/proto/internal/ber"
)

// check is what tells a protocol from others that happen to use its port: a
// version, a magic number, a length.
type check uint8

const (
	always      check = iota
	pduVersion1       // a version of 16 bits: LDP (RFC 5036, 3.1), LSP ping (RFC 8029, 3), iSNS, XDMCP
	rmcp              // version 6 (DSP0114)
	aodv              // types 1 to 4 (RFC 3561, 5)
	wccp              // types 10 to 13 (draft-wilson-wrec-wccp-v2)
	flows             // NetFlow 1, 5, 7, 8, 9 and IPFIX (RFC 7011, 3.1)
	glbp              // version 1
	sflow             // version 2, 4 or 5
	babel             // magic 42, version 2 (RFC 8966, 4.2)
	bvlc              // type 0x81 (ASHRAE 135, annex J)
	bjnp              // "BJNP" and its kin
	gtp               // version 1 or 2
	gtpPrime          // protocol type 0 (3GPP TS 32.295, 6.1.1)
	rx                // header of 28 bytes, types 1 to 13
	mgcp              // a verb or a code (RFC 3435, 3.2)
	edonkey           // 0xe3, 0xc5, 0xd4
	olsr              // packet length (RFC 3626, 3.3)
	cups              // printer's type in hexadecimal digits
	mndp              // tags of MikroTik's discovery behind four bytes
	hip               // version in the fourth byte (RFC 7401, 5.1)
	skinny            // little-endian length, known version
	cql               // version 1 to 5, request or answer
	snmp              // a sequence that begins with a version (RFC 3416)
	kerberos          // an application tag (RFC 4120, 5.10)
	radius            // codes (RFC 2865, 3; RFC 5176, 2.3)
	isakmp            // version 1 or 2 (RFC 7296, 3.1)
	sip               // a method or a version (RFC 3261, 7)
	hsrp              // a version or a type of TLV, and a code (RFC 2281, 5.1)
	openflow          // version 1 to 6 and a length (OpenFlow 1.5.1, 7.1)
	tpkt              // version 3, nothing reserved (RFC 1006, 6)
	dicom             // types 1 to 7, nothing reserved (PS3.8, 9.3)
	json              // anything; see Inside
	sap               // anything
	text              // anything
	capwap            // anything
	waits             // a stream whose messages Wireshark waits for: named where the frame is cut
)

// anything reports whether whatever comes is taken.
func (c check) anything() bool {
	switch c {
	case always, json, sap, text, capwap, waits:
		return true
	default:
		return false
	}
}

func (c check) passes(b []byte) bool {
	at := func(i int) byte {
		if i < len(b) {
			return b[i]
		}
		return 0
	}
	switch c {
	case always:
		return true
	case pduVersion1:
		return at(0) == 0 && at(1) == 1
	case rmcp:
		return at(0) == 6
	case aodv:
		return at(0) >= 1 && at(0) <= 4
	case wccp:
		return len(b) >= 4 && b[0] == 0 && b[1] == 0 && b[2] == 0 && b[3] >= 7 && b[3] <= 13
	case flows:
		v := at(1)
		return at(0) == 0 && (v == 1 || v == 5 || v >= 7 && v <= 10)
	case glbp:
		return at(0) == 1
	case sflow:
		return len(b) >= 4 && b[0] == 0 && b[1] == 0 && b[2] == 0 && (b[3] == 2 || b[3] == 4 || b[3] == 5)
	case babel:
		return at(0) == 42 && at(1) == 2
	case bvlc:
		return at(0) == 0x81
	case bjnp:
		return len(b) >= 16 && (bytes.HasPrefix(b, []byte("BJN")) || bytes.HasPrefix(b, []byte("MFNP")) || bytes.HasPrefix(b, []byte("BNJ")))
	case olsr:
		return len(b) >= 4 && int(binary.BigEndian.Uint16(b)) == len(b)
	case cups:
		return len(b) >= 3 && hexadecimal(b[0])
	default:
		return c.seldom(b, at)
	}
}

func (c check) seldom(b []byte, at func(int) byte) bool {
	switch c {
	case gtp:
		return at(0)>>5 == 2 || at(0)>>5 == 1 && at(0)&0x10 != 0
	case gtpPrime:
		return len(b) >= 6 && b[0]>>5 == 0
	case rx:
		return len(b) >= 28 && b[20] >= 1 && b[20] <= 13
	case mgcp:
		return len(b) > 4 && (letters(b[:4]) || digits(b[:3])) && (b[3] == ' ' || b[4] == ' ')
	case edonkey:
		return at(0) == 0xe3 || at(0) == 0xc5 || at(0) == 0xd4
	case mndp:
		return len(b) >= 8 && b[4] == 0 && b[5] >= 1 && b[5] <= 17 && b[6] == 0
	case hip:
		return len(b) >= 40 && b[0]|b[1]|b[2]|b[3] == 0
	case skinny:
		return len(b) >= 12 && b[2]|b[3] == 0 && binary.LittleEndian.Uint32(b) >= 4 && binary.LittleEndian.Uint32(b[4:]) <= 22
	case cql:
		return len(b) >= 9 && at(0)&0x7f >= 1 && at(0)&0x7f <= 5
	case snmp:
		return wholeSequence(b)
	case kerberos:
		return at(0)>>5 == 3
	case radius:
		return at(0) >= 1 && at(0) <= 13 || at(0) >= 40 && at(0) <= 45
	case hsrp:
		return len(b) >= 12 && b[0] <= 4 && (b[0] != 0 || b[1] <= 3)
	case openflow:
		return len(b) >= 8 && b[0] >= 1 && b[0] <= 6 && b[2]|b[3] != 0
	case tpkt:
		return at(0) == 3 && at(1) == 0
	case dicom:
		return len(b) >= 6 && b[0] >= 1 && b[0] <= 7 && b[1] == 0
	case isakmp:
		return at(17)>>4 == 1 || at(17)>>4 == 2
	case sip:
		return bytes.HasPrefix(b, []byte("SIP/2.0")) || len(b) > 3 && letters(b[:3])
	default:
		return false
	}
}

// wholeSequence reports whether b begins with a sequence of BER that ends within b.
func wholeSequence(b []byte) bool {
	const longestHead = 5 // tag, and a length of at most three bytes
	v, _, ok := ber.Head(b)
	return ok && v.Tag == ber.Sequence && v.Len > 0 && v.Size-v.Len <= longestHead && v.Size <= len(b)
}

func hexadecimal(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func letters(b []byte) bool {
	for _, c := range b {
		if c < 'A' || c > 'Z' && c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}

func digits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
