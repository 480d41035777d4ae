package analyze

// prefetch asks for the two cache lines from p on, and does not wait for them: they may
// lie in the cache of another core.
//
//go:noescape
func prefetch(p *byte)
