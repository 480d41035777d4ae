// Package assigned names protocols that nothing here reads, by the port that they
// are spoken on, so that a report tells what else was there.
//
// # Why
//
// Most traffic of a capture has an analyzer. What is left is named as Wireshark
// names it: what its User's Guide calls "decode as" is a table of ports, and
// `tshark -G decodes` prints it. Some protocols take whatever comes on their port;
// others look at the first bytes, and decline what is not theirs. The tables hold
// the former, and the latter where a glance tells, as found by sending random,
// empty and textual payloads to every port. What is declined, or on another port,
// is Data.
//
// The same goes for what an analyzer reads on a port where Wireshark would not know it,
// and for the few things that Wireshark takes for a protocol on any port.
//
// Little is read of a payload, nothing is kept of a conversation, and no analyzer is
// chosen by these tables.
package assigned
