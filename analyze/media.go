package analyze

import (
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// media numbers the conversations of calls as Wireshark does. It begins one as soon
// as it reads where media are wanted (RFC 8866), with that end alone: a datagram
// that is of no older conversation belongs to the one of its source, else of its
// destination. What two ends say to each other may be two conversations there, and
// what several say to one of them a single one.
//
// What is described again begins another. Whether it is used cannot be known here,
// since the lanes tell of the first datagrams only: media that flow go on.
type media struct {
	ends  map[mediaEnd]mediaConv
	convs map[flow.Key]struct{} // those that belong to ends
	heard map[mediaEnd]struct{} // ends of these that sent and were not described
}

type mediaEnd struct {
	addr [16]byte
	port uint16
}

type mediaConv struct {
	id   flow.ID
	used bool // it has a number
}

// maxMedia bounds each of the maps.
const maxMedia = 1 << 14

func newMedia() media {
	return media{ends: map[mediaEnd]mediaConv{}, convs: map[flow.Key]struct{}{}, heard: map[mediaEnd]struct{}{}}
}

// described takes a description of where media are wanted.
func (c *collector) described(m *proto.Media) {
	for _, port := range [2]uint16{m.Port, m.Control} {
		end := mediaEnd{m.Addr.As16(), port}
		x, known := c.media.ends[end]
		_, heard := c.media.heard[end]
		switch {
		case port == 0, !known && len(c.media.ends) >= maxMedia:
		case heard && !known, x.used && !m.Repeated:
			c.media.ends[end] = c.anotherMedia()
		case !known:
			c.media.ends[end] = mediaConv{}
		}
	}
}

func (c *collector) anotherMedia() mediaConv {
	id := flow.ID{Proto: flow.UDP, Stream: c.next.udp}
	c.next.udp++
	c.res.UDPConversations++
	return mediaConv{id: id, used: true}
}

// ofMedia finds the conversation of media that a new one belongs to.
func (c *collector) ofMedia(o *opened) (id flow.ID, ok bool) {
	if len(c.media.ends) == 0 || o.proto != flow.UDP || o.outer || o.quoted || o.real || o.again {
		return id, false
	}
	at, dst := o.ends()
	x, ok := c.media.ends[at]
	if !ok {
		if x, ok = c.media.ends[dst]; !ok {
			return id, false
		}
		c.hear(at)
		at = dst
	}
	if len(c.media.convs) < maxMedia {
		c.media.convs[o.key] = struct{}{}
	}
	if !x.used {
		x = c.anotherMedia()
		c.media.ends[at] = x
	}
	return x.id, true
}

// reversed takes the first datagram of the other end of a conversation.
func (c *collector) reversed(o *opened) {
	if _, ok := c.media.convs[o.key]; !ok {
		return
	}
	src, _ := o.ends()
	if x, ok := c.media.ends[src]; !ok {
		c.hear(src)
	} else if !x.used {
		c.media.ends[src] = c.anotherMedia()
	}
}

func (c *collector) hear(end mediaEnd) {
	if len(c.media.heard) < maxMedia {
		c.media.heard[end] = struct{}{}
	}
}

// ends are source and destination of the frame.
func (o *opened) ends() (src, dst mediaEnd) {
	src, dst = mediaEnd{o.key.A, o.key.PortA}, mediaEnd{o.key.B, o.key.PortB}
	if !o.srcIsA {
		src, dst = dst, src
	}
	return src, dst
}

// answered tells the collector that the other end of the datagrams at hand has sent
// for the first time: of those that media may have.
func (l *lane) answered() {
	const leastPort = 1024 // RFC 3551, 8
	p := l.pkt
	if p.SrcPort() < leastPort || p.DstPort() < leastPort {
		return
	}
	l.sub++
	l.d.opened = append(l.d.opened, opened{
		frame: l.frame.Number, sub: l.sub, proto: flow.UDP, key: p.Key, reverse: true, srcIsA: p.SrcIsA,
	})
}
