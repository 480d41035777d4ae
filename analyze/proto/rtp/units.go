package rtp

import (
	"encoding/binary"

	"netwhy/analyze/proto"
)

// unit is what one PID of a transport stream carries: a section of tables, or a packet
// of an elementary stream (ISO/IEC 13818-1, 2.4.3.6 and 2.4.4). It is named in the frame
// that completes it, as Wireshark does.
type unit struct {
	open  bool
	table bool
	id    byte // of the table
	left  int  // bytes to come; -1: until the next one begins
}

// Names of units as Wireshark and the report call them.
const (
	pes     = "mpeg-pes"
	section = "mpeg_sect"
)

func unitNames() []string {
	return []string{pes, section, "mpeg_pat", "mpeg_ca", "mpeg_pmt", "dvb_nit", "dvb_sdt", "dvb_bat", "dvb_eit", "dvb_tdt"}
}

// take takes the payload of one packet; starts tells that a unit begins in it.
func (u *unit) take(s *proto.Scope, pid uint16, b []byte, starts bool) {
	if !starts {
		u.add(s, pid, len(b))
		return
	}
	if u.open && u.left < 0 {
		s.Carries(pes)
	}
	*u = unit{}
	const pesHead, sectionHead, startCode = 6, 3, 1
	if len(b) >= pesHead && binary.BigEndian.Uint32(b)>>8 == startCode {
		*u = unit{open: true, left: pesHead + int(binary.BigEndian.Uint16(b[4:]))}
		if u.left == pesHead { // pictures need not tell (2.4.3.7)
			u.left = -1
			return
		}
		u.add(s, pid, len(b))
		return
	}
	if len(b) == 0 || 1+int(b[0])+sectionHead > len(b) {
		return
	}
	b = b[1+b[0]:]
	*u = unit{open: true, table: true, id: b[0], left: sectionHead + int(binary.BigEndian.Uint16(b[1:])&0x0fff)}
	u.add(s, pid, len(b))
}

// add takes n bytes of the unit at hand.
func (u *unit) add(s *proto.Scope, pid uint16, n int) {
	if !u.open || u.left < 0 {
		return
	}
	if u.left -= n; u.left > 0 {
		return
	}
	u.open = false
	if !u.table {
		s.Carries(pes)
		return
	}
	s.Carries(section)
	if name := tableName(pid, u.id); name != "" {
		s.Carries(name)
	}
}

// tableName names a table by its PID and identifier (2.4.4.4; ETSI EN 300 468, 5.1).
func tableName(pid uint16, id byte) string {
	const nit, sdt, eit, tdt = 0x10, 0x11, 0x12, 0x14
	switch {
	case pid == 0 && id == 0:
		return "mpeg_pat"
	case pid == 1 && id == 1:
		return "mpeg_ca"
	case id == 2:
		return "mpeg_pmt"
	case pid == nit && (id == 0x40 || id == 0x41):
		return "dvb_nit"
	case pid == sdt && (id == 0x42 || id == 0x46):
		return "dvb_sdt"
	case pid == sdt && id == 0x4a:
		return "dvb_bat"
	case pid == eit && id >= 0x4e && id <= 0x6f:
		return "dvb_eit"
	case pid == tdt && id == 0x70:
		return "dvb_tdt"
	}
	return ""
}
