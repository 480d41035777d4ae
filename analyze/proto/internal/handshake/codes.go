package handshake

import "netwhy/analyze/finding"

// Codes of findings.
const (
	FatalAlert         finding.Code = "tls.fatal-alert"
	WarningAlert       finding.Code = "tls.warning-alert"
	EncryptedAlert     finding.Code = "tls.encrypted-alert"
	HandshakeStalled   finding.Code = "tls.handshake-stalled"
	HandshakeCut       finding.Code = "tls.handshake-cut"
	HandshakeSlow      finding.Code = "tls.handshake-slow"
	HelloRetry         finding.Code = "tls.hello-retry"
	EarlyDataRefused   finding.Code = "tls.early-data-refused"
	NotTLS             finding.Code = "tls.not-tls-answer"
	OldVersion         finding.Code = "tls.old-version"
	WeakCipher         finding.Code = "tls.weak-cipher"
	CertExpired        finding.Code = "tls.certificate-expired"
	CertNotYetValid    finding.Code = "tls.certificate-not-yet-valid"
	CertNameMismatch   finding.Code = "tls.certificate-name-mismatch"
	CertSelfSigned     finding.Code = "tls.certificate-self-signed"
	CertWeak           finding.Code = "tls.certificate-weak"
	CertChainBroken    finding.Code = "tls.certificate-chain-order"
	CertNoIntermediate finding.Code = "tls.certificate-issuer-not-sent"
	ClosedUnused       finding.Code = "tls.closed-after-handshake"
	CertRevoked        finding.Code = "tls.certificate-revoked"
)

// Defs declares them.
func Defs() []finding.Def {
	sni := finding.Metric{Name: "sni", Text: true, Doc: "name that the client asked for; empty: none"}
	subject := finding.Metric{Name: "subject", Text: true, Doc: "whom the certificate names"}
	issuer := finding.Metric{Name: "issuer", Text: true, Doc: "who signed it"}
	fromServer := finding.Metric{Name: "from_server", Doc: "1: the server sent it, 0: the client"}
	during := finding.Metric{Name: "during_handshake", Doc: "1: the handshake was not complete"}
	stage := finding.Metric{Name: "stage", Text: true, Doc: "last message of the handshake that was seen"}
	clientMax := finding.Metric{Name: "client_max_version", Text: true, Doc: "highest version that the client offers"}
	alert := []finding.Metric{
		{Name: "alert", Doc: "number of the description"},
		{Name: "description", Text: true, Doc: "its name"},
		{Name: "meaning", Text: true, Doc: "what it tells"},
		fromServer, during, sni, clientMax,
		{Name: "client_min_version", Text: true, Doc: "lowest version that the client says it offers; empty: not said"},
		{Name: "server_version", Text: true, Doc: "version that the server chose; empty: no ServerHello"},
		subject, issuer,
		{Name: "chain_length", Doc: "certificates that the server sent; 0: none seen"},
		{Name: "self_signed", Doc: "1: the server's certificate is signed by itself"},
		{Name: "cert_expired_seconds", Doc: "since the certificate expired, at the capture's time; 0: it has not"},
	}
	return []finding.Def{
		{
			Code: ClosedUnused, Severity: finding.Info, Metrics: []finding.Metric{
				sni, subject, issuer,
				{Name: "chain_length", Doc: "certificates that the server sent; 0: none seen"},
				{Name: "self_signed", Doc: "1: the server's certificate is signed by itself"},
				{Name: "reset", Doc: "1: closed by a RST, 0: by FINs"},
				{Name: "after_ms", Merge: finding.Max, Doc: "from the end of the handshake to the end of the connection"},
			},
			Doc: "The connection was closed after a complete handshake, before the client sent any data. Clients that check the certificate last (GnuTLS, and so wget) refuse it in this way, without an alert; health checks and connections made in advance look the same.",
		},
		{
			Code: CertRevoked, Severity: finding.Warning, Metrics: []finding.Metric{
				sni,
				{Name: "serial", Text: true, Doc: "of the certificate, hexadecimal"},
				{Name: "revoked_at", Text: true, Doc: "RFC 3339"},
				{Name: "reason", Text: true, Doc: "as the issuer told; empty: not told"},
				{Name: "stapled", Doc: "1: the server sent the status itself (RFC 6066, 8), 0: the client asked the issuer"},
			},
			Doc: "An OCSP answer says that a certificate was revoked (RFC 6960).",
		},
		{
			Code: FatalAlert, Severity: finding.Warning, Metrics: alert,
			Doc: "One side ended the connection and said why in clear text (RFC 8446, 6.2).",
		},
		{
			Code: WarningAlert, Severity: finding.Info, Metrics: alert,
			Doc: "One side warned in clear text (RFC 5246, 7.2); close_notify, the normal end, is not reported.",
		},
		{
			Code: EncryptedAlert, Severity: finding.Notice, Metrics: []finding.Metric{
				fromServer, during, sni,
				{Name: "certificate_sent", Doc: "1: the other side had sent its certificate (in TLS 1.3: its encrypted messages)"},
			},
			Doc: "An alert that cannot be read came before the handshake was complete: one side refused what the other sent. In TLS 1.3 it is told by its length, 19 bytes. After the handshake an encrypted alert is nearly always close_notify and not reported.",
		},
		{
			Code: HandshakeStalled, Severity: finding.Warning, Metrics: []finding.Metric{
				sni, stage,
				{Name: "waiting_for_server", Doc: "1: the server did not go on, 0: the client"},
				{Name: "waited_seconds", Merge: finding.Max, Doc: "from the last message of the handshake to the end of the conversation or capture"},
				{Name: "no_answer", Doc: "1: the ClientHello has no answer at all"},
			},
			Doc: "The handshake stopped and nobody said why. Said from 1 s on: a server answers a ClientHello without asking anybody.",
		},
		{
			Code: HandshakeCut, Severity: finding.Notice, Metrics: []finding.Metric{
				sni, stage,
				{Name: "reset", Doc: "1: by a RST, 0: by FINs"},
				{Name: "after_seconds", Merge: finding.Max, Doc: "since the ClientHello"},
				{Name: "no_answer", Doc: "1: the ClientHello has no answer at all"},
			},
			Doc: "The connection was closed before the handshake was complete, without an alert.",
		},
		{
			Code: HandshakeSlow, Severity: finding.Notice, Metrics: []finding.Metric{
				sni,
				{Name: "handshake_ms", Merge: finding.Max, Doc: "ClientHello to the end of the handshake"},
				{Name: "server_ms", Merge: finding.Max, Doc: "ClientHello to ServerHello"},
				{Name: "client_ms", Merge: finding.Max, Doc: "end of the server's flight to the client's next"},
			},
			Doc: "The handshake took 1 s or more: two round trips to the far side of the earth take 0.6 s.",
		},
		{
			Code: HelloRetry, Severity: finding.Info, Metrics: []finding.Metric{sni, {Name: "group", Doc: "key exchange group that the server wants"}},
			Doc: "The server asked for another ClientHello (RFC 8446, 4.1.4): the client guessed the wrong group. It costs one round trip.",
		},
		{
			Code: EarlyDataRefused, Severity: finding.Info, Metrics: []finding.Metric{sni, {Name: "reason", Text: true, Doc: "what the server's answer says of it"}},
			Doc: "The client sent data with its first message (0-RTT; RFC 8446, 2.3; RFC 9001, 4.6) and the server did not take it: it has to be sent again after the handshake, and the round trip that it should save is spent. Normal after a restart of the server, or once a ticket is too old; with each connection, the servers behind one address do not share their keys for tickets. Seen in the ServerHello; with a key log also in what follows.",
		},
		{
			Code: NotTLS, Severity: finding.Warning, Metrics: []finding.Metric{sni, {Name: "first_bytes", Text: true, Doc: "what came instead"}},
			Doc: "The answer to the ClientHello is not TLS: the port speaks something else, or something in between answered.",
		},
		{
			Code: OldVersion, Severity: finding.Info, Metrics: []finding.Metric{sni, {Name: "version", Text: true, Doc: "version agreed on"}, clientMax},
			Doc: "A version was agreed on that RFC 8996 forbids (before TLS 1.2).",
		},
		{
			Code: WeakCipher, Severity: finding.Info, Metrics: []finding.Metric{sni, {Name: "cipher", Text: true, Doc: "suite agreed on"}, {Name: "why", Text: true, Doc: "what is weak"}},
			Doc: "A cipher suite was agreed on that RFC 9325 forbids.",
		},
		{
			Code: CertExpired, Severity: finding.Warning, Metrics: []finding.Metric{
				sni, subject, issuer,
				{Name: "not_after", Text: true, Doc: "RFC 3339"},
				{Name: "expired_seconds", Merge: finding.Max, Doc: "since then, at the capture's time"},
				{Name: "position", Doc: "0: the server's own, else that of a higher one"},
			},
			Doc: "A certificate of the server's chain had expired when it was sent, by the capture's clock.",
		},
		{
			Code: CertNotYetValid, Severity: finding.Warning, Metrics: []finding.Metric{
				sni, subject, issuer,
				{Name: "not_before", Text: true, Doc: "RFC 3339"},
				{Name: "early_seconds", Merge: finding.Max, Doc: "until then"},
			},
			Doc: "The server's certificate was not valid yet when it was sent: a clock is wrong.",
		},
		{
			Code: CertNameMismatch, Severity: finding.Notice, Metrics: []finding.Metric{sni, subject, {Name: "names", Text: true, Doc: "names of the certificate"}},
			Doc: "The name that the client asked for is not among those of the certificate (RFC 9525).",
		},
		{
			Code: CertSelfSigned, Severity: finding.Info, Metrics: []finding.Metric{sni, subject},
			Doc: "The server's certificate is signed by itself: only who has it stored trusts it.",
		},
		{
			Code: CertWeak, Severity: finding.Info, Metrics: []finding.Metric{sni, subject, {Name: "why", Text: true, Doc: "key or signature"}},
			Doc: "The server's key or the signature of its certificate is too weak for today's clients (CA/Browser Forum, 6.1.5).",
		},
		{
			Code: CertChainBroken, Severity: finding.Info, Metrics: []finding.Metric{sni, subject, {Name: "chain_length", Doc: "certificates sent"}},
			Doc: "A certificate is not signed by the one that follows it (RFC 5246, 7.4.2 asks for that order).",
		},
		{
			Code: CertNoIntermediate, Severity: finding.Info, Metrics: []finding.Metric{sni, subject, issuer},
			Doc: "The server sends its own certificate only, and it is not signed by itself: clients that do not have the issuer stored cannot build the chain.",
		},
	}
}
