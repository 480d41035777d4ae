// Package trace gathers what pictures are drawn from: how much traffic there
// was when, and, frame by frame, the connections that were diagnosed.
//
// # Why a second look at the file
//
// The analysis keeps figures, not frames, or it could not read a capture larger
// than memory. Which connections are worth a picture is known at its end. So the
// file is read again, up to the last frame that matters, and only the frames of
// these connections are judged once more. Standard input and a live interface
// cannot be read again: their reports have no pictures of connections.
package trace
