package tlsmsg

import (
	"encoding/binary"
	"strings"

	"golang.org/x/crypto/cryptobyte"
)

// Identity is what the ClientHellos of one software have in common, whatever name
// they ask for: what it offers, and the fingerprints of that.
type Identity struct {
	Max, Min  uint16 // versions offered; Min 0: not told
	ALPN      []string
	Offered   string // ALPN in one text
	MaxName   string // of Max
	JA3, JA4  string
	EarlyData bool
	ECH       bool // encrypted client hello: the name asked for is the outer one
	CID       int  // as in ClientHello
}

// Client is what is kept of a ClientHello.
type Client struct {
	*Identity
	SNI    string
	Random [32]byte
}

// Server is what is kept of a ServerHello.
type Server struct {
	Version        uint16 // negotiated
	Cipher         uint16
	EncryptThenMAC bool
	CID            int // as in ServerHello
	Random         [32]byte
}

// Hellos remembers what was worked out of hellos before: most are those of
// software that was met already.
type Hellos struct {
	key     []byte
	client  ClientHello
	server  ServerHello
	clients map[string]*Identity
	servers map[string]string
}

// Bounds of what is remembered. A key longer than that is of no real software.
const (
	maxIdentities = 1 << 9
	maxKey        = 1 << 10
)

// Client reads the body of a ClientHello, but for the name asked for, which is
// returned as bytes of it. ok is false when it breaks its own lengths: what was read
// before stands.
func (m *Hellos) Client(body []byte, transport byte) (c Client, sni []byte, ok bool) {
	m.key, sni, ok = appendIdentity(append(m.key[:0], transport), body, transport == OverDTLS)
	known := ok && len(m.key) <= maxKey
	if known {
		if c.Identity = m.clients[string(m.key)]; c.Identity != nil {
			copy(c.Random[:], body[2:])
			return c, sni, true
		}
	}
	ok = m.client.Parse(body, transport == OverDTLS)
	c = Client{Identity: m.client.identity(transport), Random: m.client.Random}
	if known && ok {
		if m.clients == nil || len(m.clients) >= maxIdentities {
			m.clients = map[string]*Identity{}
		}
		m.clients[string(m.key)] = c.Identity
	}
	return c, m.client.SNI, ok
}

func (h *ClientHello) identity(transport byte) *Identity {
	return &Identity{
		Max: h.MaxVersion(), Min: h.MinVersion(), ALPN: h.ALPN, Offered: strings.Join(h.ALPN, ","), MaxName: VersionName(h.MaxVersion()),
		JA3: h.JA3(), JA4: h.JA4(transport), EarlyData: h.EarlyData, ECH: h.ECH, CID: h.CID,
	}
}

// Server reads the body of a ServerHello, which is valid until the next call, and
// returns its JA3S with it.
func (m *Hellos) Server(body []byte) (h *ServerHello, ja3s string, ok bool) {
	h = &m.server
	if !h.Parse(body) {
		return h, "", false
	}
	m.key = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(m.key[:0], h.Version), h.Cipher)
	for _, e := range h.Extensions {
		m.key = binary.BigEndian.AppendUint16(m.key, e)
	}
	ja3s, known := m.servers[string(m.key)]
	if !known {
		if m.servers == nil || len(m.servers) >= maxIdentities {
			m.servers = map[string]string{}
		}
		ja3s = h.JA3S()
		m.servers[string(m.key)] = ja3s
	}
	return h, ja3s, true
}

// appendIdentity writes all of a ClientHello that an Identity depends on. The
// numbers that clients draw anew each time (RFC 8701) become one. ok is false for a
// hello that breaks its lengths in what is left out; the rest is not checked.
func appendIdentity(key, body []byte, dtls bool) (_, sni []byte, ok bool) {
	s := cryptobyte.String(body)
	var session, cookie, ciphers, compression, block cryptobyte.String
	if len(body) < 2 {
		return key, nil, false
	}
	key = append(key, body[:2]...)
	if !s.Skip(2+32) || !s.ReadUint8LengthPrefixed(&session) || dtls && !s.ReadUint8LengthPrefixed(&cookie) ||
		!s.ReadUint16LengthPrefixed(&ciphers) || !s.ReadUint8LengthPrefixed(&compression) {
		return key, nil, false
	}
	key = appendNumbers(key, ciphers)
	if s.Empty() {
		return append(key, 0), nil, true
	}
	if !s.ReadUint16LengthPrefixed(&block) {
		return key, nil, false
	}
	key = append(key, 1)
	for !block.Empty() {
		var typ uint16
		var data cryptobyte.String
		if !block.ReadUint16(&typ) || !block.ReadUint16LengthPrefixed(&data) {
			return key, nil, false
		}
		key = appendNumber(key, typ)
		switch typ {
		case extServerName:
			name, fits := serverName(data)
			if !fits {
				return key, nil, false
			}
			if len(sni) == 0 {
				sni = name
			}
		case extKeyShare:
			if !keyShares(data) {
				return key, nil, false
			}
		case extConnectionID:
			key = append(key, byte(connectionID(data)&0xff), byte(len(data)&0xff))
		case extALPN:
			key = append(binary.BigEndian.AppendUint16(key, uint16(len(data))), data...) //nolint:gosec // read with 16 bits of length
		case extPointFormats, extSignatureAlgorithms, extGroups:
			key = appendNumbers(key, data)
		case extSupportedVersions:
			if len(data) > 0 {
				key = appendNumbers(append(key, data[0]), data[1:])
			}
		}
	}
	return key, sni, true
}

// appendNumbers writes a list of numbers after its length.
func appendNumbers(key, list []byte) []byte {
	key = binary.BigEndian.AppendUint16(key, uint16(len(list))) //nolint:gosec // read with 16 bits of length
	for ; len(list) > 1; list = list[2:] {
		key = appendNumber(key, binary.BigEndian.Uint16(list))
	}
	return append(key, list...)
}

func appendNumber(key []byte, v uint16) []byte {
	if IsGREASE(v) {
		v = 0x0a0a
	}
	return append(key, byte(v>>8), byte(v&0xff))
}
