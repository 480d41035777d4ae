package tlsmsg

import (
	"crypto/tls"
	"fmt"
	"strconv"
)

// VersionName writes a version as people say it.
func VersionName(v uint16) string {
	switch v {
	case 0x0002:
		return "SSL 2.0"
	case SSL30:
		return "SSL 3.0"
	case TLS10:
		return "TLS 1.0"
	case TLS11:
		return "TLS 1.1"
	case TLS12:
		return "TLS 1.2"
	case TLS13:
		return "TLS 1.3"
	case DTLS10:
		return "DTLS 1.0"
	case 0x0100:
		return "DTLS 1.0 (OpenSSL before 0.9.8f)"
	case DTLS12:
		return "DTLS 1.2"
	case DTLS13:
		return "DTLS 1.3"
	}
	if v>>8 == 0x7f {
		return "TLS 1.3 draft " + strconv.Itoa(int(v&0xff))
	}
	return fmt.Sprintf("0x%04x", v)
}

// CipherName writes a cipher suite by its IANA name, or as a number: those that
// crypto/tls knows, and what else was met in captures. The table of crypto/tls
// is made anew at each call, which costs more than reading a ServerHello.
func CipherName(c uint16) string {
	switch c {
	case 0x1301:
		return "TLS_AES_128_GCM_SHA256"
	case 0x1302:
		return "TLS_AES_256_GCM_SHA384"
	case 0x1303:
		return "TLS_CHACHA20_POLY1305_SHA256"
	case 0xc02b:
		return "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
	case 0xc02c:
		return "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
	case 0xc02f:
		return "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
	case 0xc030:
		return "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
	case 0xcca8:
		return "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"
	case 0xcca9:
		return "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"
	case 0x0033:
		return "TLS_DHE_RSA_WITH_AES_128_CBC_SHA"
	case 0x0039:
		return "TLS_DHE_RSA_WITH_AES_256_CBC_SHA"
	case 0x003d:
		return "TLS_RSA_WITH_AES_256_CBC_SHA256"
	case 0x0067:
		return "TLS_DHE_RSA_WITH_AES_128_CBC_SHA256"
	case 0x006b:
		return "TLS_DHE_RSA_WITH_AES_256_CBC_SHA256"
	case 0x009e:
		return "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256"
	case 0x009f:
		return "TLS_DHE_RSA_WITH_AES_256_GCM_SHA384"
	case 0x0016:
		return "TLS_DHE_RSA_WITH_3DES_EDE_CBC_SHA"
	case 0x0088:
		return "TLS_DHE_RSA_WITH_CAMELLIA_256_CBC_SHA"
	case 0xc0ac:
		return "TLS_ECDHE_ECDSA_WITH_AES_128_CCM"
	case 0xc0ae:
		return "TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8"
	}
	return tls.CipherSuiteName(c)
}

// WeakCipher tells why a suite should not be used any more; empty: no reason
// known. Numbers are of the IANA registry, reasons of RFC 7465, 8996 and 9325.
func WeakCipher(c uint16) string {
	switch {
	case c <= 0x0002 || c == 0x003b || c == 0x00b0 || c == 0x00b1 || c == 0xc001 || c == 0xc006 || c == 0xc00b || c == 0xc010:
		return "no encryption"
	case c == 0x0003 || c == 0x0006 || c == 0x0008 || c == 0x000b || c == 0x000e || c == 0x0011 || c == 0x0014 || c >= 0x0026 && c <= 0x002b:
		return "export grade"
	case c == 0x0004 || c == 0x0005 || c == 0x0018 || c == 0xc002 || c == 0xc007 || c == 0xc00c || c == 0xc011 || c == 0xc016:
		return "RC4"
	case c == 0x0009 || c == 0x000c || c == 0x000f || c == 0x0012 || c == 0x0015 || c == 0x001a:
		return "DES"
	case c == 0x000a || c == 0x000d || c == 0x0010 || c == 0x0013 || c == 0x0016 || c == 0x001b || c == 0xc003 || c == 0xc008 || c == 0xc00d || c == 0xc012 || c == 0xc017:
		return "3DES"
	case c == 0x0034 || c == 0x003a || c == 0x006c || c == 0x006d || c == 0x00a6 || c == 0x00a7 || c >= 0xc015 && c <= 0xc019:
		return "anonymous: nobody proves who he is"
	}
	return ""
}

// AlertName writes an alert's description (RFC 8446, 6; RFC 5246, 7.2; IANA
// registry "TLS Alerts"); empty: not assigned.
func AlertName(desc uint8) string {
	switch desc {
	case 0:
		return "close_notify"
	case 10:
		return "unexpected_message"
	case 20:
		return "bad_record_mac"
	case 21:
		return "decryption_failed"
	case 22:
		return "record_overflow"
	case 30:
		return "decompression_failure"
	case 40:
		return "handshake_failure"
	case 41:
		return "no_certificate"
	case 42:
		return "bad_certificate"
	case 43:
		return "unsupported_certificate"
	case 44:
		return "certificate_revoked"
	case 45:
		return "certificate_expired"
	case 46:
		return "certificate_unknown"
	case 47:
		return "illegal_parameter"
	case 48:
		return "unknown_ca"
	case 49:
		return "access_denied"
	case 50:
		return "decode_error"
	case 51:
		return "decrypt_error"
	case 60:
		return "export_restriction"
	case 70:
		return "protocol_version"
	case 71:
		return "insufficient_security"
	case 80:
		return "internal_error"
	case 86:
		return "inappropriate_fallback"
	case 90:
		return "user_canceled"
	case 100:
		return "no_renegotiation"
	case 109:
		return "missing_extension"
	case 110:
		return "unsupported_extension"
	case 111:
		return "certificate_unobtainable"
	case 112:
		return "unrecognized_name"
	case 113:
		return "bad_certificate_status_response"
	case 114:
		return "bad_certificate_hash_value"
	case 115:
		return "unknown_psk_identity"
	case 116:
		return "certificate_required"
	case 120:
		return "no_application_protocol"
	case 121:
		return "ech_required"
	}
	return ""
}

// Meaning says what an alert tells of its receiver, from the sender's view.
// fromServer is who sent it.
func Meaning(desc uint8, fromServer bool) string {
	side := func(client, server string) string {
		if fromServer {
			return server
		}
		return client
	}
	switch desc {
	case 10:
		return "a message came that does not belong there: one side does not keep to the protocol, or this is not TLS"
	case 20, 21, 51:
		return "what was decrypted does not match its checksum: bytes changed on the way, keys differ, or the other side is not who it says"
	case 40:
		return side("the client accepts none of what the server chose",
			"client and server have no cipher, group or signature in common, or the server wants a client certificate")
	case 42, 43, 46:
		return side("the client does not accept the server's certificate", "the server does not accept the client's certificate")
	case 44:
		return side("the server's certificate was revoked", "the client's certificate was revoked")
	case 45:
		return side("the client says that the server's certificate has expired: either it has, or the client's clock is wrong",
			"the server says that the client's certificate has expired: either it has, or the server's clock is wrong")
	case 48:
		return side("the client does not know who issued the server's certificate: an own or intercepting CA that it lacks, or an intermediate certificate that the server does not send",
			"the server does not know who issued the client's certificate")
	case 49:
		return "the certificate is valid, but its owner has no access"
	case 70:
		return side("the server chose a version that the client does not speak", "the server speaks none of the versions that the client offers")
	case 71:
		return "the server wants stronger ciphers than the client offers"
	case 80:
		return "an error inside the sender that has nothing to do with the other side"
	case 86:
		return "the client tried a lower version again although the server speaks a higher one: its first attempts were disturbed"
	case 100:
		return "the sender does not renegotiate"
	case 109, 110, 47, 50:
		return "a message is not as the protocol wants it"
	case 112:
		return "the server has no certificate for the name that the client asked for"
	case 115:
		return "the server does not know the pre-shared key"
	case 116:
		return "the server wants a client certificate, and none was sent"
	case 120:
		return "the server speaks none of the application protocols that the client offers (ALPN)"
	}
	return ""
}
