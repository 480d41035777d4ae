// Package run is the only place where all rooms meet: it opens the source, has
// it analysed, asks the rules what it means, and hands the report to the formats
// that were asked for. Nothing here knows what is in a packet.
//
// Whatever ends a run early (an interrupt, a damaged file, a full disk at one of
// the outputs) costs what comes after it and nothing that was found before.
package run
