package ledger

// Clock tells how far the capture has come: what waits for an answer at the end
// has waited until then, whoever sent the last frame. It is told once a batch,
// so that what is judged does not depend on which conversations share a lane.
func (b *Books) Clock(now int64) { b.latest = max(b.latest, now) }
