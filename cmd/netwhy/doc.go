// Command netwhy answers why a connection is slow, broken or refused: who is to
// blame, which frames prove it, and what to do.
package main
