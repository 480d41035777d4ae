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
	k := l.chunkOf(tsn)
	if _, again := l.chunks[k]; again {
		return true
	}
	if l.chunks == nil || len(l.chunks) >= maxChunks {
		l.chunks = make(map[chunkSeen]struct{})
	}
	l.chunks[k] = struct{}{}
	return false
}

func (l *lane) chunkOf(tsn uint32) chunkSeen {
	p := l.pkt
	k := chunkSeen{key: p.Key, tsn: tsn, srcIsA: p.SrcIsA}
	if at := int(p.L4); at+8 <= len(l.raw) {
		k.tag = binary.BigEndian.Uint32(l.raw[at+4:])
	}
	return k
}

// sctp names the messages in an SCTP packet, and shows those of a protocol that is
// counted to its analyzer (Spec.Message). A message that comes in several chunks
// (RFC 9260, 6.9) counts where the last of them comes by, as Wireshark has it, which
// reads no chunk that was cut.
func (l *lane) sctp() {
	const (
		chunk, header, longHeader = 4, 16, 20
		data, idata               = 0, 64 // RFC 9260, 3.3.1; RFC 8260, 2.1
	)
	p := l.pkt
	b := p.Data(l.raw)
	for len(b) >= chunk {
		n := int(binary.BigEndian.Uint16(b[2:]))
		if n < chunk || n > len(b) {
			return
		}
		body, kind, flags := b[:n], b[0], b[1]
		b = b[min((n+3)&^3, len(b)):]
		at := header
		if kind == idata {
			at = longHeader
		}
		if kind != data && kind != idata || len(body) <= at || l.sentAgain(binary.BigEndian.Uint32(body[4:])) {
			continue
		}
		x := piece{begins: flags&beginning != 0, ends: flags&ending != 0, body: body[at:]}
		x.at.stream, x.number = binary.BigEndian.Uint16(body[8:]), binary.BigEndian.Uint32(body[4:])
		if kind == data {
			x.id = binary.BigEndian.Uint32(body[12:])
		} else {
			x.at.apart, x.at.loose, x.at.message = true, flags&loose != 0, binary.BigEndian.Uint32(body[12:])
			if x.number = binary.BigEndian.Uint32(body[16:]); x.begins {
				x.id, x.number = x.number, 0
			}
		}
		if !x.begins || !x.ends {
			x.at.chunkSeen = l.chunkOf(x.number)
			if !l.pieces.join(&x) {
				continue
			}
		}
		l.sctpMessage(x.id, x.body)
	}
}

// Flags of a chunk of data (RFC 9260, 3.3.1).
const (
	ending = 1 << iota
	beginning
	loose // not in order with the others of its stream
)

func (l *lane) sctpMessage(id uint32, b []byte) {
	name := assigned.SCTP(id, l.pkt.SrcPort(), l.pkt.DstPort())
	if spec := l.specs.over[name]; spec != nil {
		l.setScope(0, nil, &l.nobody)
		spec.Message(&l.scope, b)
		return
	}
	l.giveOne(l.specs.names.index[name])
}
