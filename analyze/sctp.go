package analyze

import (
	"encoding/binary"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto/assigned"
)

// chunkSeen is one chunk of data of an association and direction.
type chunkSeen struct {
	key    flow.Key
	tag    uint32 // of verification
	tsn    uint32
	srcIsA bool
}

// maxChunks bounds the chunks that are remembered.
const maxChunks = 1 << 16

// sentAgain reports whether a chunk of data came before: Wireshark looks into the first
// one only.
func (l *lane) sentAgain(tsn uint32) bool {
	p := l.pkt
	k := chunkSeen{key: p.Key, tsn: tsn, srcIsA: p.SrcIsA}
	if at := int(p.L4); at+8 <= len(l.raw) {
		k.tag = binary.BigEndian.Uint32(l.raw[at+4:])
	}
	if _, again := l.chunks[k]; again {
		return true
	}
	if l.chunks == nil || len(l.chunks) >= maxChunks {
		l.chunks = make(map[chunkSeen]struct{})
	}
	l.chunks[k] = struct{}{}
	return false
}

// sctp names the messages in an SCTP packet, and shows those of a protocol that is
// counted to its analyzer (Spec.Message). A message that comes in several chunks
// (RFC 9260, 6.9) counts where its last one is, as Wireshark has it.
func (l *lane) sctp() {
	const (
		chunk, header, longHeader = 4, 16, 20
		data, idata               = 0, 64 // RFC 9260, 3.3.1; RFC 8260, 2.1
		ending, beginning         = 1, 2
	)
	p := l.pkt
	b := p.Data(l.raw)
	for len(b) >= chunk {
		n := int(binary.BigEndian.Uint16(b[2:]))
		if n < chunk {
			return
		}
		body, kind, flags := b[:min(n, len(b))], b[0], b[1]
		b = b[min((n+3)&^3, len(b)):]
		at := header
		if kind == idata {
			at = longHeader
		}
		if kind != data && kind != idata || flags&ending == 0 || len(body) <= at {
			continue
		}
		if l.sentAgain(binary.BigEndian.Uint32(body[4:])) {
			continue
		}
		var id uint32
		if kind == data {
			id = binary.BigEndian.Uint32(body[12:])
		} else if flags&beginning != 0 {
			id = binary.BigEndian.Uint32(body[16:])
		}
		name := assigned.SCTP(id, p.SrcPort(), p.DstPort())
		if spec := l.specs.over[name]; spec != nil {
			l.setScope(0, nil, &socket{})
			spec.Message(&l.scope, body[at:])
			continue
		}
		l.giveOne(l.specs.names.index[name])
	}
}
