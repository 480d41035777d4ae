package ledger

// talk is what a conversation with payload costs beyond its record.
type talk struct{}

// early is what a conversation with a troubled handshake costs beyond its record.
type early struct{}
