// Package smb2 reads Server Message Block, versions 2 and 3 (MS-SMB2): status
// codes of the server, failed logons, and how long requests take.
package smb2

import (
	"encoding/binary"
	"fmt"
	"unicode/utf16"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
	"netwhy/analyze/proto/internal/frames"
	"netwhy/analyze/proto/internal/gss"
)

// Codes of findings.
const (
	LogonFailed finding.Code = "smb2.logon-failed"
	Denied      finding.Code = "smb2.access-denied"
	Error       finding.Code = "smb2.error"
	Old         finding.Code = "smb.obsolete-version"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	status := finding.Metric{Name: "status", Text: true, Doc: "name of the NT status (MS-ERREF, 2.3)"}
	command := finding.Metric{Name: "command", Text: true, Doc: "what was asked"}
	file := finding.Metric{Name: "file", Text: true, Doc: "file or share, where the request names one"}
	times := finding.Metric{Name: "errors", Merge: finding.Sum, Doc: "such answers"}
	return proto.Spec{
		Name: "nbss", Doc: "Server Message Block 2 and 3, MS-SMB2",
		Also:    append(gss.Names(), name, "smb"),
		Carrier: proto.TCP, Ports: []uint16{445, 139},
		First: func(_ flow.Dir, c byte) bool { return c == 0 || c == 0x81 },
		Probe: probe,
		New:   newAnalyzer,
		Codes: []finding.Def{
			{
				Code: LogonFailed, Severity: finding.Notice,
				Doc:     "The server refused a session: wrong password, unknown, locked, disabled or expired account (MS-SMB2, 3.3.5.5).",
				Metrics: []finding.Metric{status, times},
			},
			{
				Code: Denied, Severity: finding.Notice,
				Doc:     "The server refused access to a share or file (STATUS_ACCESS_DENIED and its kin).",
				Metrics: []finding.Metric{status, command, file, times},
			},
			{
				Code: Error, Severity: finding.Info,
				Doc:     "The server answered with another error status. That a file does not exist, that there are no more files, or that a buffer is too small belongs to the normal course and is not told.",
				Metrics: []finding.Metric{status, command, file, times},
			},
			{
				Code: Old, Severity: finding.Info,
				Doc: "A session speaks SMB 1, which is unsafe and switched off in current systems.",
			},
		},
	}
}

const (
	headLen    = 64
	maxMessage = 1 << 24
	cmdLogon   = 1
	cmdTree    = 3
	cmdCreate  = 5
	cmdNotify  = 15
	cmdOplock  = 18
	flagAnswer = 1
	flagAsync  = 2
)

func commandName(n uint16) string {
	names := [...]string{
		"negotiate", "session setup", "logoff", "tree connect", "tree disconnect", "create", "close", "flush", "read", "write",
		"lock", "ioctl", "cancel", "echo", "query directory", "change notify", "query info", "set info", "oplock break",
	}
	if int(n) < len(names) {
		return names[n]
	}
	return "other"
}

// name is the protocol; what carries both of its versions is the session service of
// NetBIOS (RFC 1002, 4.3), as which Wireshark counts what belongs to neither.
const name = "smb2"

func probe(_ flow.Dir, b []byte) proto.Verdict {
	if len(b) >= 1 && b[0] == 0x81 && len(b) >= 4 && len(b) < 80 { // NetBIOS session request (RFC 1002, 4.3.2)
		return proto.NeedMore
	}
	if len(b) < 8 {
		if len(b) > 0 && b[0] != 0 && b[0] != 0x81 && b[0] != 0x82 {
			return proto.No
		}
		return proto.NeedMore
	}
	if b[0] == 0x81 && binary.BigEndian.Uint16(b[2:]) == 68 {
		return proto.Certain
	}
	if b[0] != 0 {
		return proto.No
	}
	switch string(b[4:8]) {
	case "\xfeSMB", "\xffSMB", "\xfdSMB":
		return proto.Certain
	}
	return proto.No
}

type analyzer struct {
	frames.Reader

	book  ask.Book
	files map[uint64]string // by message id
	old   bool
}

func newAnalyzer() proto.Analyzer {
	a := &analyzer{book: ask.Book{Protocol: name}, files: map[uint64]string{}}
	a.Length = func(_ flow.Dir, b []byte) (int, error) {
		if len(b) < 4 {
			return 0, nil
		}
		switch b[0] {
		case 0, 0x81, 0x82, 0x83, 0x84, 0x85:
		default:
			return 0, errMessage
		}
		return 4 + int(binary.BigEndian.Uint32(b)&(maxMessage-1)), nil
	}
	a.Message = a.message
	a.Sync = func(dir flow.Dir, b []byte) bool { return len(b) >= 8 && probe(dir, b) == proto.Certain }
	return a
}

type fault string

func (f fault) Error() string { return string(f) }

const errMessage fault = "no SMB message where one begins"

func (a *analyzer) message(s *proto.Scope, dir flow.Dir, b []byte, total int) {
	if len(b) < 8 {
		return
	}
	b = b[4:]
	switch string(b[:4]) {
	case "\xffSMB":
		s.Carries("smb")
		s.App("smb")
		if cmd := b[4]; cmd == 0x72 || cmd == 0x73 { // negotiate, session setup
			gss.Token(s, gss.Find(b), false)
		}
		// A client that offers version 2 begins in the language of version 1;
		// only what is said after that is spoken in it.
		if !a.old && b[4] != 0x72 {
			a.old = true
			s.Report(Old)
		}
		return
	case "\xfdSMB":
		s.Attr("smb2.encrypted", "1")
		return
	}
	for range 32 { // messages may be compounded (MS-SMB2, 3.2.4.1.4)
		if len(b) < headLen || string(b[:4]) != "\xfeSMB" {
			return
		}
		s.Carries(name)
		s.App(name)
		next := int(binary.LittleEndian.Uint32(b[20:]))
		one := b
		if next >= headLen && next <= len(b) {
			one = b[:next]
		}
		a.one(s, dir, one, total)
		if next < headLen || next > len(b) {
			return
		}
		b = b[next:]
	}
}

// token returns the security buffer of a negotiation's answer or a logon (MS-SMB2,
// 2.2.4 to 2.2.6); nil: there is none.
func token(b []byte, cmd uint16, answer bool) []byte {
	at := headLen
	switch {
	case cmd == 0 && answer:
		at += 56
	case cmd == cmdLogon && answer:
		at += 4
	case cmd == cmdLogon:
		at += 12
	default:
		return nil
	}
	if len(b) < at+4 {
		return nil
	}
	from, n := int(binary.LittleEndian.Uint16(b[at:])), int(binary.LittleEndian.Uint16(b[at+2:]))
	if from < headLen || from >= len(b) {
		return nil
	}
	return b[from:min(from+n, len(b))]
}

func (a *analyzer) one(s *proto.Scope, dir flow.Dir, b []byte, total int) {
	cmd, flags, id := binary.LittleEndian.Uint16(b[12:]), binary.LittleEndian.Uint32(b[16:]), binary.LittleEndian.Uint64(b[24:])
	gss.Token(s, token(b, cmd, flags&flagAnswer != 0), flags&flagAnswer != 0)
	if dir == flow.ToServer {
		if cmd == 12 || flags&flagAnswer != 0 {
			return
		}
		label := commandName(cmd)
		if f := file(cmd, b); f != "" {
			const most = 1024
			if len(a.files) < most {
				a.files[id] = f
			}
			label += " " + f
		}
		if cmd != cmdNotify { // waits for something to happen
			a.book.Queue(s, id, label, total)
		}
		return
	}
	status := binary.LittleEndian.Uint32(b[8:])
	if flags&flagAsync != 0 && status == pending || cmd == cmdOplock && id == 1<<64-1 {
		return
	}
	what, known := statusName(status)
	failed := status>>30 == 3 && !normal(status)
	a.book.Answer(s, id, what, failed && known, total)
	name := a.files[id]
	delete(a.files, id)
	if cmd == cmdLogon && status != moreProcessing {
		s.Publish(&proto.Login{Protocol: name, Client: s.Client().Addr(), Server: s.Server(), OK: status == 0})
	}
	if !failed {
		return
	}
	switch {
	case cmd == cmdLogon:
		s.Report(LogonFailed, finding.Text(what), finding.Num(1))
	case denied(status):
		s.Report(Denied, finding.Text(what), finding.Text(commandName(cmd)), finding.Text(name), finding.Num(1))
	default:
		s.Report(Error, finding.Text(what), finding.Text(commandName(cmd)), finding.Text(name), finding.Num(1))
	}
}

// file is the name in a create or tree connect request (MS-SMB2, 2.2.13, 2.2.9).
func file(cmd uint16, b []byte) string {
	var at int
	switch {
	case cmd == cmdCreate && len(b) >= headLen+48:
		at = headLen + 44
	case cmd == cmdTree && len(b) >= headLen+8:
		at = headLen + 4
	default:
		return ""
	}
	off, n := int(binary.LittleEndian.Uint16(b[at:])), int(binary.LittleEndian.Uint16(b[at+2:]))
	const longest = 256
	n = min(n, longest)
	if off+n > len(b) {
		return ""
	}
	u := make([]uint16, n/2)
	for i := range u {
		u[i] = binary.LittleEndian.Uint16(b[off+2*i:])
	}
	return ask.Clip([]byte(string(utf16.Decode(u))))
}

const (
	pending        = 0x00000103
	moreProcessing = 0xc0000016
)

// normal tells errors that belong to the course of things.
func normal(status uint32) bool {
	switch status {
	case moreProcessing, 0xc0000034, 0xc000003a, 0xc000000f, 0xc0000225, 0xc0000011, 0xc0000120, 0xc0000023, 0xc0000035, 0xc0000257:
		return true
	}
	return false
}

func denied(status uint32) bool {
	switch status {
	case 0xc0000022, 0xc00000cc, 0xc0000061, 0xc00000ca, 0xc0000121, 0xc0000056:
		return true
	}
	return false
}

func statusName(status uint32) (name string, known bool) {
	switch status {
	case 0:
		return "STATUS_SUCCESS", true
	case pending:
		return "STATUS_PENDING", true
	case 0xc000000d:
		return "STATUS_INVALID_PARAMETER", true
	case 0xc0000016:
		return "STATUS_MORE_PROCESSING_REQUIRED", true
	case 0xc0000022:
		return "STATUS_ACCESS_DENIED", true
	case 0xc0000033:
		return "STATUS_OBJECT_NAME_INVALID", true
	case 0xc0000034:
		return "STATUS_OBJECT_NAME_NOT_FOUND", true
	case 0xc0000035:
		return "STATUS_OBJECT_NAME_COLLISION", true
	case 0xc000003a:
		return "STATUS_OBJECT_PATH_NOT_FOUND", true
	case 0xc0000043:
		return "STATUS_SHARING_VIOLATION", true
	case 0xc0000054:
		return "STATUS_FILE_LOCK_CONFLICT", true
	case 0xc0000056:
		return "STATUS_DELETE_PENDING", true
	case 0xc0000064:
		return "STATUS_NO_SUCH_USER", true
	case 0xc000006a:
		return "STATUS_WRONG_PASSWORD", true
	case 0xc000006d:
		return "STATUS_LOGON_FAILURE", true
	case 0xc000006e:
		return "STATUS_ACCOUNT_RESTRICTION", true
	case 0xc0000071:
		return "STATUS_PASSWORD_EXPIRED", true
	case 0xc0000072:
		return "STATUS_ACCOUNT_DISABLED", true
	case 0xc000007f:
		return "STATUS_DISK_FULL", true
	case 0xc00000ba:
		return "STATUS_FILE_IS_A_DIRECTORY", true
	case 0xc00000bb:
		return "STATUS_NOT_SUPPORTED", true
	case 0xc00000c9:
		return "STATUS_NETWORK_NAME_DELETED", true
	case 0xc00000cc:
		return "STATUS_BAD_NETWORK_NAME", true
	case 0xc0000101:
		return "STATUS_DIRECTORY_NOT_EMPTY", true
	case 0xc0000121:
		return "STATUS_CANNOT_DELETE", true
	case 0xc0000128:
		return "STATUS_FILE_CLOSED", true
	case 0xc0000203:
		return "STATUS_USER_SESSION_DELETED", true
	case 0xc0000234:
		return "STATUS_ACCOUNT_LOCKED_OUT", true
	}
	return fmt.Sprintf("0x%08x", status), false
}

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
