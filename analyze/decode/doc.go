// Package decode reads a captured frame down to its innermost flow: link header,
// VLAN tags, labels and tunnels, IP with its extension headers, and the
// transport header. It also puts IP fragments together (Defragmenter) and reads,
// on demand, what only some callers need: TCP options, checksums, MAC addresses,
// the fields of ARP and ICMP.
//
// A frame's bytes are hostile. Nothing here panics, allocates per frame, recurses
// deeper than maxLayers or believes a length before the bytes are there. What
// cannot be read leaves the last layer that could be read in place, and the
// reason in Packet.Err.
//
// # Why not gopacket
//
// Its decoders are an interface call and a heap object a layer, panic or loop on
// malformed input, and lack layers that captures are full of (SLL2, PPI, MPLS
// pseudowires, cisco HDLC). Reading the ten fields that matter straight from the
// bytes is some fifteen times faster and leaves one place that has to be right. In
// the tests gopacket is the second opinion: on plain frames both must agree.
//
// # Which conversation a frame belongs to
//
// As Wireshark 4.0.17 has it, found by crafted captures: a conversation is the
// innermost addresses and ports, nothing else. The same five values in two
// VLANs, two VXLAN networks or inside and outside of a tunnel are one
// tcp.stream. The outer UDP of a tunnel is a udp.stream of its own, counted
// before the inner ones: Packet.Conv gives all of a frame in that order. What
// an ICMP error quotes also has a stream there; it is marked as quoted. What the
// media of calls have, see package analyze.
// Packet.VLAN and Packet.TunnelID are at hand for those who want to keep such
// conversations apart; Key.Realm is left 0. A TCP header needs sixteen bytes, a
// UDP header eight and a length of at least eight to count.
//
// Where this goes beyond Wireshark's default settings: sessions of L2TPv3 whose
// content is beyond doubt are entered, and IPv6 packets without a length are read
// (Packet.NoLength6, not among them). Where it stops short: packets quoted
// inside sFlow, OpenFlow and NHRP, compressed payloads (IPComp), and further
// frames of an 802.11 aggregate.
//
// # Fragments
//
// Wireshark shows a fragmented datagram in the frame that completes it and
// nothing of it before, so a fragment is of KindFragment until a Defragmenter has
// all; a first fragment of IPv4 that the snaplen has cut is read as it is. It has
// no time limit, and keeps fragments in two VLANs apart in IPv4 only.
package decode
