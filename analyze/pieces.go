package analyze

// piece is a fragment of a message over SCTP, or a row of them without a hole.
type piece struct {
	at           pieceAt // of the first
	number       uint32  // of the first
	last         uint32  // number of the last
	begins, ends bool    // it has the first, the last of the message
	id           uint32  // payload protocol identifier: of the message's last; I-DATA: first
	body         []byte
}

// pieceAt is the place of a fragment. Those of DATA are numbered over all messages
// (RFC 9260, 6.9), those of I-DATA in their message (RFC 8260, 2.1).
type pieceAt struct {
	chunkSeen
	message uint32 // I-DATA
	stream  uint16
	apart   bool // it is I-DATA
	loose   bool // I-DATA
}

// pieces puts messages together, in whatever order their fragments come.
type pieces struct {
	rows  map[pieceAt]*piece // by their first and by their last
	bytes int
}

// Bounds of what waits for the rest of its message: when one is reached, all is
// forgotten, as nothing tells which rest will never come.
const (
	maxPieces     = 1 << 12
	maxPieceBytes = 1 << 20
)

// join adds a fragment, and reports whether it makes a message whole: x is the
// message then.
func (p *pieces) join(x *piece) (whole bool) {
	if len(p.rows) >= maxPieces || p.bytes+len(x.body) > maxPieceBytes {
		*p = pieces{}
	}
	if p.rows == nil {
		p.rows = make(map[pieceAt]*piece)
	}
	x.last = x.number
	p.bytes += len(x.body)
	row := p.take(x.at, x.number-1)
	if row == nil || x.begins || row.last != x.number-1 || row.ends {
		p.put(row)
		row = &piece{at: x.at, number: x.number, last: x.last, begins: x.begins, ends: x.ends, id: x.id, body: append([]byte(nil), x.body...)}
	} else {
		row.follow(x)
	}
	if next := p.take(x.at, x.number+1); next != nil {
		if !row.ends && !next.begins && next.number == row.last+1 {
			row.follow(next)
		} else {
			p.put(next)
		}
	}
	if row.begins && row.ends {
		p.bytes -= len(row.body)
		*x = *row
		return true
	}
	p.put(row)
	return false
}

// follow appends what comes behind a row.
func (r *piece) follow(x *piece) {
	r.last, r.ends = x.last, x.ends
	r.body = append(r.body, x.body...)
	if !r.at.apart {
		r.id = x.id
	}
}

// take removes the row that begins or ends at a number.
func (p *pieces) take(at pieceAt, number uint32) *piece {
	at.tsn = number
	row := p.rows[at]
	if row == nil {
		return nil
	}
	at.tsn = row.number
	delete(p.rows, at)
	at.tsn = row.last
	delete(p.rows, at)
	return row
}

func (p *pieces) put(row *piece) {
	if row == nil {
		return
	}
	at := row.at
	at.tsn = row.number
	p.rows[at] = row
	at.tsn = row.last
	p.rows[at] = row
}
