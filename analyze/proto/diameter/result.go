package diameter

import (
	"encoding/binary"
	"strconv"
)

// Attributes that are read (RFC 6733, 4.5).
const (
	originHost, sessionID, resultCode              = 264, 263, 268
	errorMessage, realmOfTarget                    = 281, 283
	experimentalResult, experimentalCode, vendorID = 297, 298, 266
)

// said is what a message says of itself.
type said struct {
	result              uint32
	vendor              uint32 // whose result it is; 0: the base protocol's
	text, origin, realm []byte
}

// attributes reads those of a message, as far as 128.
func attributes(b []byte) (out said) {
	const most = 128
	for range most {
		code, v, rest, ok := attribute(b)
		if !ok {
			break
		}
		b = rest
		switch {
		case code == resultCode && len(v) == 4:
			out.result = binary.BigEndian.Uint32(v)
		case code == experimentalResult:
			out.experimental(v)
		case code == errorMessage:
			out.text = v
		case code == originHost:
			out.origin = v
		case code == realmOfTarget:
			out.realm = v
		}
	}
	return out
}

// experimental reads a result of a vendor, which is grouped (RFC 6733, 7.6).
func (s *said) experimental(b []byte) {
	for range 4 {
		code, v, rest, ok := attribute(b)
		if !ok {
			return
		}
		b = rest
		switch {
		case code == experimentalCode && len(v) == 4:
			s.result = binary.BigEndian.Uint32(v)
		case code == vendorID && len(v) == 4:
			s.vendor = binary.BigEndian.Uint32(v)
		}
	}
}

// attribute takes one off (RFC 6733, 4.1): code, flags, length without padding, with
// a flag the vendor. Those of vendors have code 0 here.
func attribute(b []byte) (code uint32, v, rest []byte, ok bool) {
	const least, ofVendor = 8, 0x80
	if len(b) < least {
		return 0, nil, nil, false
	}
	n, at := int(number24(b[5:])), least
	if b[4]&ofVendor != 0 {
		at += 4
	} else {
		code = binary.BigEndian.Uint32(b)
	}
	if n < at || n > len(b) {
		return 0, nil, nil, false
	}
	return code, b[at:n], b[min(len(b), (n+3)&^3):], true
}

const of3GPP = 10415

// meaning names a result, and tells whether it refuses user or session, or says that
// nobody has what was asked for.
func (s *said) meaning() (what string, access, routing int) {
	if s.vendor != 0 {
		return s.ofVendor()
	}
	switch s.result {
	case 3002:
		return "DIAMETER_UNABLE_TO_DELIVER", 0, 1
	case 3003:
		return "DIAMETER_REALM_NOT_SERVED", 0, 1
	case 3005:
		return "DIAMETER_LOOP_DETECTED", 0, 1
	case 3010:
		return "DIAMETER_UNKNOWN_PEER", 1, 0
	case 4001:
		return "DIAMETER_AUTHENTICATION_REJECTED", 1, 0
	case 5003:
		return "DIAMETER_AUTHORIZATION_REJECTED", 1, 0
	case 5030:
		return "DIAMETER_USER_UNKNOWN", 1, 0
	}
	names := map[uint32]string{
		3001: "DIAMETER_COMMAND_UNSUPPORTED", 3004: "DIAMETER_TOO_BUSY", 3006: "DIAMETER_REDIRECT_INDICATION",
		3007: "DIAMETER_APPLICATION_UNSUPPORTED", 3008: "DIAMETER_INVALID_HDR_BITS", 3009: "DIAMETER_INVALID_AVP_BITS",
		4002: "DIAMETER_OUT_OF_SPACE", 4003: "ELECTION_LOST", 4010: "DIAMETER_END_USER_SERVICE_DENIED",
		4012: "DIAMETER_CREDIT_LIMIT_REACHED", 5001: "DIAMETER_AVP_UNSUPPORTED", 5002: "DIAMETER_UNKNOWN_SESSION_ID",
		5004: "DIAMETER_INVALID_AVP_VALUE", 5005: "DIAMETER_MISSING_AVP", 5006: "DIAMETER_RESOURCES_EXCEEDED",
		5007: "DIAMETER_CONTRADICTING_AVPS", 5008: "DIAMETER_AVP_NOT_ALLOWED", 5009: "DIAMETER_AVP_OCCURS_TOO_MANY_TIMES",
		5010: "DIAMETER_NO_COMMON_APPLICATION", 5011: "DIAMETER_UNSUPPORTED_VERSION", 5012: "DIAMETER_UNABLE_TO_COMPLY",
		5013: "DIAMETER_INVALID_BIT_IN_HEADER", 5014: "DIAMETER_INVALID_AVP_LENGTH", 5015: "DIAMETER_INVALID_MESSAGE_LENGTH",
		5017: "DIAMETER_NO_COMMON_SECURITY", 5031: "DIAMETER_RATING_FAILED",
	}
	if n := names[s.result]; n != "" {
		return n, 0, 0
	}
	return "result " + strconv.Itoa(int(s.result)), 0, 0
}

// ofVendor names results of 3GPP (TS 29.229, 6.2; TS 29.272, 7.4).
func (s *said) ofVendor() (what string, access, routing int) {
	names := map[uint32]string{
		4181: "DIAMETER_AUTHENTICATION_DATA_UNAVAILABLE", 5001: "DIAMETER_ERROR_USER_UNKNOWN",
		5002: "DIAMETER_ERROR_IDENTITIES_DONT_MATCH", 5003: "DIAMETER_ERROR_IDENTITY_NOT_REGISTERED",
		5004: "DIAMETER_ERROR_ROAMING_NOT_ALLOWED", 5420: "DIAMETER_ERROR_UNKNOWN_EPS_SUBSCRIPTION",
		5421: "DIAMETER_ERROR_RAT_NOT_ALLOWED", 5422: "DIAMETER_ERROR_EQUIPMENT_UNKNOWN",
	}
	if n := names[s.result]; s.vendor == of3GPP && n != "" {
		return n, 1, 0
	}
	return "result " + strconv.Itoa(int(s.result)) + " of vendor " + strconv.Itoa(int(s.vendor)), 0, 0
}
