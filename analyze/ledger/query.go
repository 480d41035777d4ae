package ledger

import "netwhy/analyze/conn"

// queries sums up the exchanges of a UDP conversation. Nothing but what analyzers
// say is known of such, and a resolver has a hundred thousand with one lookup each:
// a talk for each would be the most that a capture costs. No pointers.
type queries struct {
	n, failed uint32
	lost      int64     // avoidable parts, ns
	took      int64     // ns, all of one part
	parts     uint32    // number in Books.parts; 0: there was only that part
	worst     uint32    // number in Books.worst; 0: none was worth keeping
	part      conn.Part // that took
}

// asked takes an exchange of a UDP conversation.
func (b *Books) asked(r *record, e *conn.Exchange) {
	var q *queries
	if n := r.queries(); n != 0 {
		q = b.queries.At(n)
	} else {
		r.askedSeq, q = b.queries.Get()
		*q = queries{}
	}
	b.blank.split(r, e, false)
	q.n++
	if e.Failed {
		q.failed++
	}
	lost := avoidable(&e.Ledger)
	q.lost += lost
	for p, ns := range e.Ledger.Part {
		if ns != 0 {
			b.spent(q, conn.Part(p), ns)
		}
	}
	if !notable(e, lost) || q.worst != 0 && lost <= avoidable(&b.worst.At(q.worst).Ledger) {
		return
	}
	if q.worst == 0 {
		q.worst, _ = b.worst.Get()
	}
	*b.worst.At(q.worst) = *e
}

// spent adds ns of a part. A lookup has one part only.
func (b *Books) spent(q *queries, p conn.Part, ns int64) {
	if q.parts == 0 && (q.took == 0 || q.part == p) {
		q.part, q.took = p, q.took+ns
		return
	}
	if q.parts == 0 {
		n, l := b.parts.Get()
		*l = conn.Ledger{}
		l.Add(q.part, q.took)
		q.parts = n
	}
	b.parts.At(q.parts).Add(p, ns)
}

// asks fills in what exchanges there were.
func (b *Books) asks(q *queries, sum *conn.Summary) {
	sum.Exchanges, sum.FailedExchanges = q.n, q.failed
	sum.Score = q.lost
	if q.parts != 0 {
		sum.Parts = *b.parts.At(q.parts)
	} else if q.took != 0 {
		sum.Parts.Add(q.part, q.took)
	}
	if q.worst != 0 {
		w := *b.worst.At(q.worst)
		sum.Worst = &w
	}
}
