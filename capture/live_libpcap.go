//go:build cgo && unix

package capture

/*
#include <stdlib.h>
#include <string.h>
#include "libpcap.h"

struct netwhy_frame {
	int64_t  time; // ns
	uint32_t offset, captured, wire;
};

// netwhy_port is an interface that is read. The frame that found no room is kept
// aside: libpcap hands each out once.
struct netwhy_port {
	pcap_t  *p;
	u_char  *spill;
	size_t   spill_room;
	int      spilled;
	struct netwhy_frame spill_frame;
};

struct netwhy_fill {
	struct netwhy_port *port;
	u_char *buf;
	size_t  used, room;
	struct netwhy_frame *frames;
	int     n, max;
	uint64_t bytes; // on the wire, of frames that are thrown away
};

static void netwhy_keep(u_char *user, const struct pcap_pkthdr *h, const u_char *data) {
	struct netwhy_fill *f = (struct netwhy_fill *)user;
	struct netwhy_frame x;
	x.time = (int64_t)h->ts.tv_sec * 1000000000 + h->ts.tv_usec; // ns were asked for
	x.captured = h->caplen;
	x.wire = h->len > h->caplen ? h->len : h->caplen;
	if (f->n == f->max || h->caplen > f->room - f->used) {
		struct netwhy_port *q = f->port;
		if (h->caplen > q->spill_room) {
			u_char *more = realloc(q->spill, h->caplen);
			if (more == NULL) {
				return;
			}
			q->spill = more;
			q->spill_room = h->caplen;
		}
		memcpy(q->spill, data, h->caplen);
		x.offset = 0;
		q->spill_frame = x;
		q->spilled = 1;
		netwhy_pcap.breakloop(q->p);
		return;
	}
	memcpy(f->buf + f->used, data, h->caplen);
	x.offset = (uint32_t)f->used;
	f->used += h->caplen;
	f->frames[f->n++] = x;
}

static void netwhy_drop(u_char *user, const struct pcap_pkthdr *h, const u_char *data) {
	struct netwhy_fill *f = (struct netwhy_fill *)user;
	(void)data;
	f->bytes += h->len;
	f->n++;
}

// netwhy_take moves frames from the ring to buf, in one call for many. It
// returns libpcap's result; the number of frames is in *n.
static int netwhy_take(struct netwhy_port *port, u_char *buf, size_t *used, size_t room,
                       struct netwhy_frame *frames, int *n, int max) {
	struct netwhy_fill f;
	memset(&f, 0, sizeof f);
	f.port = port;
	f.buf = buf;
	f.used = *used;
	f.room = room;
	f.frames = frames;
	f.max = max;
	if (port->spilled) {
		struct netwhy_frame x = port->spill_frame;
		if (x.captured > f.room - f.used) {
			*n = 0;
			return 1;
		}
		memcpy(f.buf + f.used, port->spill, x.captured);
		x.offset = (uint32_t)f.used;
		f.used += x.captured;
		f.frames[f.n++] = x;
		port->spilled = 0;
	}
	int rc = netwhy_pcap.dispatch(port->p, max - f.n > 0 ? max - f.n : 1, netwhy_keep, (u_char *)&f);
	if (rc == PCAP_ERROR_BREAK) {
		rc = f.n;
	}
	*n = f.n;
	*used = f.used;
	return rc;
}

// netwhy_shed throws frames of the ring away and counts them.
static int netwhy_shed(struct netwhy_port *port, int max, uint64_t *frames, uint64_t *bytes) {
	struct netwhy_fill f;
	memset(&f, 0, sizeof f);
	f.port = port;
	if (port->spilled) {
		f.n = 1;
		f.bytes = port->spill_frame.wire;
		port->spilled = 0;
	}
	int rc = netwhy_pcap.dispatch(port->p, max, netwhy_drop, (u_char *)&f);
	*frames = (uint64_t)f.n;
	*bytes = f.bytes;
	return rc;
}
*/
import "C"

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unsafe"

	"netwhy/capture/packet"
)

// port is one open interface. It is used by the reading goroutine only.
type port struct {
	name  string
	index uint16 // of its entry in Info.Interfaces
	link  packet.LinkType
	c     *C.struct_netwhy_port // nil: closed
	fd    int
	raw   []C.struct_netwhy_frame // scratch of take
	away
	stage *stage // of several interfaces: what waits to be put in order

	lastKernel, lastInterface uint32 // libpcap's counters wrap at 32 bits
	asked                     int64  // when they were read, ns since 1970
	taken                     uint32 // frames moved or shed; wraps as libpcap's
	owed                      int    // at the end: frames that the kernel took and that have not come yet
}

// openPort opens an interface for reading.
func openPort(name string, opt *LiveOptions) (*port, error) {
	if err := loadLibpcap(); err != nil {
		return nil, &OpenError{
			Name: name, Reason: "libpcap, which reads interfaces, cannot be loaded (" + err.Error() + ")",
			Remedy: installLibpcap, Err: err,
		}
	}
	var fault [C.PCAP_ERRBUF_SIZE]C.char
	device := C.CString(name)
	defer C.free(unsafe.Pointer(device))
	p := C.netwhy_create(device, &fault[0])
	if p == nil {
		return nil, &OpenError{Name: name, Reason: C.GoString(&fault[0])}
	}
	fail := func(err error) (*port, error) {
		C.netwhy_close(p)
		return nil, err
	}
	C.netwhy_set_snaplen(p, C.int(opt.SnapLen))
	C.netwhy_set_timeout(p, blockWait)
	C.netwhy_set_buffer_size(p, C.int(opt.Buffer))
	C.netwhy_set_tstamp_precision(p, C.PCAP_TSTAMP_PRECISION_NANO)
	if !opt.NoPromisc && name != AnyInterface {
		C.netwhy_set_promisc(p, 1)
	}
	if opt.Monitor {
		if rc := int(C.netwhy_can_set_rfmon(p)); rc == 0 {
			return fail(noMonitor(name))
		} else if rc < 0 && rc != C.PCAP_ERROR { // PCAP_ERROR: it cannot be told before it is tried
			return fail(activateError(name, rc, C.GoString(C.netwhy_geterr(p)), opt))
		}
		C.netwhy_set_rfmon(p, 1)
	}
	if opt.Clock != "" {
		if err := setClock(p, name, opt.Clock); err != nil {
			return fail(err)
		}
	}
	switch rc := C.netwhy_activate(p); {
	case rc < 0:
		return fail(activateError(name, int(rc), C.GoString(C.netwhy_geterr(p)), opt))
	case rc == C.PCAP_WARNING_TSTAMP_TYPE_NOTSUP:
		return fail(noClock(name, opt.Clock, clocks(p)))
	}
	if C.netwhy_datalink(p) == C.DLT_LINUX_SLL {
		C.netwhy_set_datalink(p, C.DLT_LINUX_SLL2) // with the interface's index; an old libpcap stays with SLL
	}
	if err := setFilter(p, name, opt.Filter); err != nil {
		return fail(err)
	}
	if C.netwhy_setnonblock(p, 1, &fault[0]) != 0 {
		return fail(&OpenError{Name: name, Reason: C.GoString(&fault[0])})
	}
	out := &port{
		name: name, link: linkOf(int(C.netwhy_datalink(p))), fd: int(C.netwhy_get_selectable_fd(p)),
		c: (*C.struct_netwhy_port)(C.calloc(1, C.sizeof_struct_netwhy_port)), raw: make([]C.struct_netwhy_frame, framesEach),
		asked: time.Now().UnixNano(),
	}
	out.c.p = p
	return out, nil
}

// setClock chooses the kind of time stamp, after libpcap's name of it.
func setClock(p *C.pcap_t, name, clock string) error {
	text := C.CString(clock)
	defer C.free(unsafe.Pointer(text))
	kind := C.netwhy_tstamp_type_name_to_val(text)
	if kind >= 0 && C.netwhy_set_tstamp_type(p, kind) == 0 {
		return nil
	}
	return noClock(name, clock, clocks(p))
}

func noClock(name, clock string, has []string) error {
	return &OpenError{
		Name: name, Reason: fmt.Sprintf("it has no time stamps of the type %q", clock),
		Remedy: "it has " + strings.Join(has, ", ") + "; leave --time-stamp-type away for the host's",
	}
}

// clocks are libpcap's names of the kinds of time stamp that an interface has.
func clocks(p *C.pcap_t) []string {
	var list *C.int
	n := int(C.netwhy_list_tstamp_types(p, &list)) //nolint:gocritic // cgo's rewriting
	if n <= 0 {
		return []string{"host"}
	}
	defer C.netwhy_free_tstamp_types(list)
	var names []string
	for _, kind := range unsafe.Slice(list, n) {
		names = append(names, C.GoString(C.netwhy_tstamp_type_val_to_name(kind)))
	}
	return names
}

func noMonitor(name string) error {
	return &OpenError{Name: name, Reason: "it has no monitor mode", Remedy: "only Wi-Fi interfaces can have one; leave --monitor away"}
}

func setFilter(p *C.pcap_t, name, filter string) error {
	if filter == "" {
		return nil
	}
	text := C.CString(filter)
	defer C.free(unsafe.Pointer(text))
	var program C.struct_bpf_program
	if C.netwhy_compile(p, &program, text, 1, C.PCAP_NETMASK_UNKNOWN) != 0 { //nolint:gocritic // cgo's rewriting
		return &FilterError{Filter: filter, Link: linkOf(int(C.netwhy_datalink(p))), Reason: C.GoString(C.netwhy_geterr(p))}
	}
	defer C.netwhy_freecode(&program)         //nolint:gocritic // cgo's rewriting
	if C.netwhy_setfilter(p, &program) != 0 { //nolint:gocritic // cgo's rewriting
		return &OpenError{Name: name, Reason: "the filter could not be set: " + C.GoString(C.netwhy_geterr(p))}
	}
	return nil
}

// linkOf turns libpcap's number in memory into that of files.
func linkOf(dlt int) packet.LinkType {
	if dlt == C.DLT_RAW {
		return packet.LinkRaw
	}
	return packet.LinkType(dlt)
}

// activateError says in the user's words why an interface cannot be opened.
func activateError(name string, status int, text string, opt *LiveOptions) error {
	e := &OpenError{Name: name, Reason: text, Err: &activation{status, text}}
	switch status {
	case C.PCAP_ERROR_NO_SUCH_DEVICE:
		e.Reason, e.Remedy, e.Err = "there is no such interface", "netwhy interfaces lists them", ErrNoInterface
	case C.PCAP_ERROR_PERM_DENIED, C.PCAP_ERROR_PROMISC_PERM_DENIED:
		e.Reason, e.Remedy, e.Err = "no permission to open the interface", PermissionRemedy(), ErrPermission
		if opt.Monitor || opt.Clock != "" { // both change how the interface works, for everybody
			e.Reason, e.Remedy = "no permission to change how the interface works", permissionRemedy("cap_net_raw,cap_net_admin")
		}
	case C.PCAP_ERROR_IFACE_NOT_UP:
		e.Reason, e.Remedy, e.Err = "the interface is down", "bring it up: sudo ip link set dev "+name+" up", ErrDown
	case C.PCAP_ERROR_RFMON_NOTSUP:
		return noMonitor(name)
	}
	return e
}

type activation struct {
	status int
	text   string
}

func (a *activation) Error() string { return a.text }

// take moves frames from the ring to the end of buf, whose capacity is the
// bound, and returns what it moved. An error means that the interface is lost.
func (p *port) take(buf []byte, frames []packet.Frame) ([]byte, []packet.Frame, error) {
	room := min(framesEach-len(frames), len(p.raw))
	if room <= 0 {
		return buf, frames, nil
	}
	used, n := C.size_t(len(buf)), C.int(0)
	rc := C.netwhy_take(p.c, (*C.u_char)(unsafe.SliceData(buf)), &used, C.size_t(cap(buf)), &p.raw[0], &n, C.int(room))
	buf = buf[:used]
	p.count(int(n))
	for i := range p.raw[:n] {
		r := &p.raw[i]
		frames = append(frames, packet.Frame{
			Time: int64(r.time), Offset: uint32(r.offset), CapLen: uint32(r.captured), WireLen: uint32(r.wire),
			Interface: p.index, Link: p.link,
		})
	}
	if rc < 0 {
		return buf, frames, p.lastError()
	}
	return buf, frames, nil
}

// spilled returns the length of the frame that found no room; 0: there is none.
func (p *port) spilled() int {
	if p.c.spilled == 0 {
		return 0
	}
	return int(p.c.spill_frame.captured)
}

// shed throws away what the ring holds, up to max frames.
func (p *port) shed(most int) (frames, bytes uint64, err error) {
	var n, b C.uint64_t
	if C.netwhy_shed(p.c, C.int(most), &n, &b) < 0 {
		err = p.lastError()
	}
	p.count(int(n))
	return uint64(n), uint64(b), err
}

func (p *port) count(n int) {
	p.taken += uint32(n)
	p.owed -= n
}

// due asks how many frames the kernel has taken that have not come yet. Those
// from before the filter was set never come: they make the number too large.
func (p *port) due() {
	var s C.struct_pcap_stat
	if p.c != nil && C.netwhy_stats(p.c.p, &s) == 0 {
		p.owed = int(int32(uint32(s.ps_recv) - uint32(s.ps_drop) - p.taken))
	}
}

func (p *port) lastError() error { return errors.New(C.GoString(C.netwhy_geterr(p.c.p))) }

// drops returns what was lost since the last call.
func (p *port) drops() (kernel, nic uint64) {
	var s C.struct_pcap_stat
	if p.c == nil || C.netwhy_stats(p.c.p, &s) != 0 {
		return 0, 0
	}
	k, i := uint32(s.ps_drop), uint32(s.ps_ifdrop)
	kernel, nic = uint64(k-p.lastKernel), uint64(i-p.lastInterface)
	p.lastKernel, p.lastInterface = k, i
	return kernel, nic
}

// refilter replaces the filter of an open port; no privilege is needed.
func (p *port) refilter(filter string) error { return setFilter(p.c.p, p.name, filter) }

func (p *port) close() {
	if p.c == nil {
		return
	}
	C.netwhy_close(p.c.p)
	C.free(unsafe.Pointer(p.c.spill))
	C.free(unsafe.Pointer(p.c))
	p.c = nil
}

// devices asks libpcap what can be captured.
func devices() ([]Device, error) {
	if err := loadLibpcap(); err != nil {
		return nil, fmt.Errorf("list interfaces: libpcap cannot be loaded (%w); %s", err, installLibpcap)
	}
	var fault [C.PCAP_ERRBUF_SIZE]C.char
	var list *C.pcap_if_t
	if C.netwhy_findalldevs(&list, &fault[0]) != 0 { //nolint:gocritic // cgo's rewriting
		return nil, fmt.Errorf("list interfaces: %s", C.GoString(&fault[0]))
	}
	defer C.netwhy_freealldevs(list)
	var out []Device
	for d := list; d != nil; d = d.next {
		x := Device{
			Name: C.GoString(d.name), Up: d.flags&C.PCAP_IF_UP != 0, Running: d.flags&C.PCAP_IF_RUNNING != 0,
			Loopback: d.flags&C.PCAP_IF_LOOPBACK != 0, Wireless: d.flags&C.PCAP_IF_WIRELESS != 0,
		}
		if d.description != nil {
			x.Desc = C.GoString(d.description)
		}
		out = append(out, x)
	}
	return out, nil
}

// linkTypeOf opens an interface without reading it; empty: not permitted.
func linkTypeOf(name string) string {
	opt := LiveOptions{SnapLen: DefaultSnapLen, Buffer: 1 << 20, NoPromisc: true}
	p, err := openPort(name, &opt)
	if err != nil {
		return ""
	}
	defer p.close()
	return p.link.Name()
}
