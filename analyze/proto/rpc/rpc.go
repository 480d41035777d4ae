// Package rpc reads ONC remote procedure calls (RFC 5531): calls without answer,
// calls that are refused, and the status of NFS version 3 (RFC 1813).
package rpc

import (
	"encoding/binary"
	"strconv"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
	"netwhy/analyze/proto/internal/frames"
)

// Codes of findings.
const (
	NoAnswer finding.Code = "rpc.no-answer"
	Refused  finding.Code = "rpc.refused"
	NFSError finding.Code = "nfs.error"
)

// Spec declares RPC over UDP, and the codes of both.
func Spec() proto.Spec {
	program := finding.Metric{Name: "program", Text: true, Doc: "portmap, nfs, mount or a number"}
	s := proto.Spec{
		Name: "rpc", Doc: "ONC Remote Procedure Call, RFC 5531",
		Also:    []string{"nfs", "mount"},
		Carrier: proto.UDP, Ports: []uint16{111, 2049}, Anywhere: true,
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			if isCall(b) {
				return proto.Certain
			}
			return proto.No
		},
		New: func() proto.Analyzer { return &datagrams{newCalls()} },
	}
	s.Codes = []finding.Def{
		{
			Code: NoAnswer, Severity: finding.Notice,
			Doc: "Calls have no answer, five seconds long, or three or more in one conversation.",
			Metrics: []finding.Metric{
				program,
				{Name: "calls", Merge: finding.Sum, Doc: "calls without answer"},
				{Name: "answered", Merge: finding.Max, Doc: "calls that were answered"},
			},
		},
		{
			Code: Refused, Severity: finding.Notice,
			Doc: "The server refused a call (RFC 5531, 9): no such program or version there, or credentials that it does not accept.",
			Metrics: []finding.Metric{
				program,
				{Name: "reason", Text: true, Doc: "why"},
				{Name: "calls", Merge: finding.Sum, Doc: "refused calls"},
			},
		},
		{
			Code: NFSError, Severity: finding.Notice,
			Doc: "The server answered with an error status (RFC 1813, 2.6). That a file does not exist or access is denied belongs to the normal course and is not told.",
			Metrics: []finding.Metric{
				{Name: "procedure", Text: true, Doc: "what was asked"},
				{Name: "status", Text: true, Doc: "name or number of the status"},
				{Name: "errors", Merge: finding.Sum, Doc: "such answers"},
			},
		},
	}
	return s
}

// TCP declares RPC with record marks (RFC 5531, 11).
func TCP() proto.Spec {
	return proto.Spec{
		Name: "rpc", Doc: "ONC Remote Procedure Call over TCP, RFC 5531, 11",
		Also:    []string{"nfs", "mount"},
		Carrier: proto.TCP, Ports: []uint16{111, 2049}, Anywhere: true,
		Untold: [2]bool{flow.ToClient: true},
		First:  func(dir flow.Dir, c byte) bool { return dir == flow.ToClient || c&0x7f == 0 },
		Probe: func(dir flow.Dir, b []byte) proto.Verdict {
			switch {
			case dir == flow.ToClient:
				return proto.NeedMore
			case len(b) > 0 && b[0]&0x7f != 0:
				return proto.No // a first call of 16 MiB
			case len(b) < 4+callLen:
				return proto.NeedMore
			case isCall(b[4:]) && binary.BigEndian.Uint32(b)&^lastFragment >= callLen:
				return proto.Certain
			}
			return proto.No
		},
		New: newStream,
	}
}

const (
	callLen, replyLen         = 40, 24
	lastFragment              = 1 << 31
	portmap, nfs, mount       = 100000, 100003, 100005
	patience            int64 = 5_000_000_000
)

func isCall(b []byte) bool {
	if len(b) < callLen {
		return false
	}
	u := func(i int) uint32 { return binary.BigEndian.Uint32(b[4*i:]) }
	return u(1) == 0 && u(2) == 2 && u(3) >= 100000 && u(3) < 0x60000000 && u(4) < 100 && u(5) < 1000 && u(6) <= 6 && u(7) <= 400
}

type call struct {
	program, version, procedure uint32
}

type calls struct {
	book     ask.Book
	kind     map[uint32]call
	answered uint64
	program  string
}

func newCalls() calls { return calls{book: ask.Book{Protocol: "rpc"}, kind: map[uint32]call{}} }

func name(program uint32) string {
	switch program {
	case portmap:
		return "portmap"
	case nfs:
		return "nfs"
	case mount:
		return "mount"
	}
	return strconv.FormatUint(uint64(program), 10)
}

func (c *calls) message(s *proto.Scope, b []byte, total int) {
	if len(b) < replyLen-4 {
		return
	}
	xid := binary.BigEndian.Uint32(b)
	if binary.BigEndian.Uint32(b[4:]) == 0 {
		if len(b) < 24 {
			return
		}
		k := call{binary.BigEndian.Uint32(b[12:]), binary.BigEndian.Uint32(b[16:]), binary.BigEndian.Uint32(b[20:])}
		const most = 1024
		if len(c.kind) < most {
			c.kind[xid] = k
		}
		c.program = name(k.program)
		carries(s, k, false)
		c.book.Ask(s, uint64(xid), c.program+" "+procedure(k), total)
		return
	}
	c.reply(s, xid, b, total)
}

// carries counts a call or its answer, if there is something in it but the header:
// nothing is asked and answered when a program is only tried, and MOUNT answers
// nothing to an end (RFC 1813, 5.2).
func carries(s *proto.Scope, k call, answer bool) {
	const void, unmount, unmountAll = 0, 3, 4
	switch {
	case k.procedure == void, k.program == mount && answer && (k.procedure == unmount || k.procedure == unmountAll):
	case k.program == nfs || k.program == mount:
		s.Carries(name(k.program))
	}
}

func (c *calls) reply(s *proto.Scope, xid uint32, b []byte, total int) {
	k, known := c.kind[xid]
	delete(c.kind, xid)
	if known {
		carries(s, k, true)
	}
	code, failed := "ok", false
	if binary.BigEndian.Uint32(b[8:]) != 0 {
		code, failed = "denied", true
	} else if at := 20 + int(min(binary.BigEndian.Uint32(b[16:]), 400)+3)&^3; len(b) >= at+4 {
		states := [...]string{"ok", "program unavailable", "version mismatch", "procedure unavailable", "garbage arguments", "system error"}
		if n := binary.BigEndian.Uint32(b[at:]); n > 0 {
			failed, code = true, "other"
			if int(n) < len(states) {
				code = states[n]
			}
		} else if k.program == nfs && k.version == 3 && k.procedure != 0 && len(b) >= at+8 {
			status := binary.BigEndian.Uint32(b[at+4:])
			if status != 0 && behind(k.procedure, b[at+8:]) {
				s.Carries("data")
			}
			c.nfs(s, xid, k, status, total)
			return
		}
	}
	if _, _, ok := c.book.Answer(s, uint64(xid), code, failed, total); ok {
		c.answered++
	}
	if failed {
		s.Report(Refused, finding.Text(name(k.program)), finding.Text(code), finding.Num(1))
	}
}

// behind reports whether more than attributes follows the status of a failed procedure
// of NFS 3 (RFC 1813, 3.3): it is of no answer that there is.
func behind(procedure uint32, b []byte) bool {
	const (
		before, after                                 = 24, 84 // bytes of what an object was and is
		getAttr, setAttr, write, rename, link, commit = 1, 2, 7, 14, 15, 21
	)
	optional := func(size int) {
		if len(b) >= 4 && binary.BigEndian.Uint32(b) != 0 {
			b = b[min(size, len(b)-4):]
		}
		b = b[min(4, len(b)):]
	}
	changed := func() { optional(before); optional(after) }
	switch {
	case procedure == getAttr:
	case procedure == rename:
		changed()
		changed()
	case procedure == link:
		optional(after)
		changed()
	case procedure == setAttr, procedure >= write && procedure < rename, procedure == commit:
		changed()
	default: // it only reads
		optional(after)
	}
	return len(b) > 0
}

func (c *calls) nfs(s *proto.Scope, xid uint32, k call, status uint32, total int) {
	text := statusName(status)
	const noEntry, access, exists, notEmpty, jukebox = 2, 13, 17, 66, 10008
	normal := status == 0 || status == noEntry || status == access || status == exists || status == notEmpty || status == jukebox
	if _, _, ok := c.book.Answer(s, uint64(xid), text, !normal, total); ok {
		c.answered++
	}
	if !normal {
		s.Report(NFSError, finding.Text(procedure(k)), finding.Text(text), finding.Num(1))
	}
}

func procedure(k call) string {
	names := [...]string{
		"NULL", "GETATTR", "SETATTR", "LOOKUP", "ACCESS", "READLINK", "READ", "WRITE", "CREATE", "MKDIR", "SYMLINK", "MKNOD",
		"REMOVE", "RMDIR", "RENAME", "LINK", "READDIR", "READDIRPLUS", "FSSTAT", "FSINFO", "PATHCONF", "COMMIT",
	}
	if k.procedure == 0 || k.program == nfs && k.version == 3 && int(k.procedure) < len(names) {
		return names[k.procedure]
	}
	return "procedure " + strconv.FormatUint(uint64(k.procedure), 10)
}

func statusName(n uint32) string {
	switch n {
	case 0:
		return "NFS3_OK"
	case 1:
		return "NFS3ERR_PERM"
	case 2:
		return "NFS3ERR_NOENT"
	case 5:
		return "NFS3ERR_IO"
	case 13:
		return "NFS3ERR_ACCES"
	case 28:
		return "NFS3ERR_NOSPC"
	case 30:
		return "NFS3ERR_ROFS"
	case 69:
		return "NFS3ERR_DQUOT"
	case 70:
		return "NFS3ERR_STALE"
	case 10001:
		return "NFS3ERR_BADHANDLE"
	case 10004:
		return "NFS3ERR_NOTSUPP"
	case 10006:
		return "NFS3ERR_SERVERFAULT"
	case 10008:
		return "NFS3ERR_JUKEBOX"
	}
	return strconv.FormatUint(uint64(n), 10)
}

// end tells which calls have no answer.
func (c *calls) end(s *proto.Scope) {
	const several = 3
	wait := patience
	if c.book.Open() >= several {
		wait = 0
	}
	c.book.GiveUp(s, wait, func(at *proto.Scope, _ *ask.Request, _ int64) {
		at.Report(NoAnswer, finding.Text(c.program), finding.Num(1), finding.Num(c.answered))
	})
}

type datagrams struct{ calls }

// Data takes one datagram.
func (d *datagrams) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	if !s.Duplicate() {
		d.message(s, b, len(b))
	}
	return len(b), nil
}

// Gap does nothing: there is no stream.
func (*datagrams) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End tells what has no answer.
func (d *datagrams) End(s *proto.Scope, _ proto.End) { d.end(s) }

type stream struct {
	frames.Reader

	calls calls
}

func newStream() proto.Analyzer {
	a := &stream{calls: newCalls()}
	a.Length = func(_ flow.Dir, b []byte) (int, error) {
		if len(b) < 4 {
			return 0, nil
		}
		n := binary.BigEndian.Uint32(b) &^ lastFragment
		if n > 1<<26 {
			return 0, errMark
		}
		return 4 + int(n), nil
	}
	a.Message = func(s *proto.Scope, _ flow.Dir, b []byte, total int) { a.calls.message(s, b[4:], total) }
	return a
}

type fault string

func (f fault) Error() string { return string(f) }

const errMark fault = "no RPC record mark where one belongs"

// End tells what has no answer.
func (a *stream) End(s *proto.Scope, _ proto.End) { a.calls.end(s) }
