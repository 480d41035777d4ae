//go:build cgo && unix

package capture

/*
#include <stdlib.h>
#include <string.h>
#include "libpcap.h"

// One call for a batch: a call from Go costs as much as the filter itself.
static void netwhy_match(const struct bpf_program *program, const u_char *bytes,
                         const u_int *offset, const u_int *captured, const u_int *wire,
                         u_char *match, int n) {
	struct pcap_pkthdr header;
	memset(&header, 0, sizeof header);
	for (int i = 0; i < n; i++) {
		header.caplen = captured[i];
		header.len = wire[i];
		match[i] = netwhy_pcap.offline_filter(program, &header, bytes + offset[i]) != 0;
	}
}

static int netwhy_compile_for(int link, const char *text, struct bpf_program *program, char *fault, size_t room) {
	pcap_t *p = netwhy_pcap.open_dead(link, 262144);
	if (p == NULL) {
		strncpy(fault, "out of memory", room - 1);
		return -1;
	}
	int rc = netwhy_pcap.compile(p, program, text, 1, PCAP_NETMASK_UNKNOWN);
	if (rc != 0) {
		strncpy(fault, netwhy_pcap.geterr(p), room - 1);
	}
	netwhy_pcap.close(p);
	return rc;
}
*/
import "C"

import (
	"unsafe"

	"netwhy/capture/packet"
)

// filter is a capture filter, compiled for each link type when its first frame
// comes. It is used by one goroutine.
type filter struct {
	text     string
	programs map[packet.LinkType]*C.struct_bpf_program // nil: the filter has no meaning there, nothing matches
	unfit    []*FilterError                            // why, in the order in which the link types came

	// Of the batch at hand, reused.
	offset, captured, wire []C.u_int
	match                  []C.u_char
}

// newFilter checks the filter's syntax, so that a misspelt one is told before
// anything is read. Which link types will come is not known yet, and some words
// have a meaning on some only: it is enough that one of the common ones takes it.
func newFilter(text string) (*filter, error) {
	if err := loadLibpcap(); err != nil {
		return nil, &FilterError{Filter: text, Reason: "libpcap, which compiles filters, cannot be loaded (" + err.Error() + "); " + installLibpcap}
	}
	f := &filter{text: text, programs: map[packet.LinkType]*C.struct_bpf_program{}}
	var first *FilterError
	for _, link := range [...]packet.LinkType{packet.LinkEthernet, packet.LinkRadiotap, packet.LinkLinuxSLL2, packet.LinkPPP, linkPflog, linkSunATM, linkMTP2} {
		p, err := f.compile(link)
		if err == nil {
			f.programs[link] = p
			return f, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// Link types with words of their own in libpcap's language.
const (
	linkPflog  packet.LinkType = 117
	linkSunATM packet.LinkType = 123
	linkMTP2   packet.LinkType = 140
)

func (f *filter) compile(link packet.LinkType) (*C.struct_bpf_program, *FilterError) {
	text := C.CString(f.text)
	defer C.free(unsafe.Pointer(text))
	p := (*C.struct_bpf_program)(C.calloc(1, C.sizeof_struct_bpf_program))
	var fault [256]C.char
	if C.netwhy_compile_for(C.int(dlt(link)), text, p, &fault[0], C.size_t(len(fault))) != 0 {
		C.free(unsafe.Pointer(p))
		return nil, &FilterError{Filter: f.text, Link: link, Reason: C.GoString(&fault[0])}
	}
	return p, nil
}

// dlt returns libpcap's number in memory of a link type in files; they differ
// only for raw IP.
func dlt(link packet.LinkType) int {
	switch link {
	case packet.LinkRaw, packet.LinkRawBSD, packet.LinkRawOpenBSD:
		return C.DLT_RAW
	default:
		return int(link)
	}
}

// apply leaves only the frames of b that match.
func (f *filter) apply(b *packet.Batch) {
	kept := b.Frames[:0]
	frames := b.Frames
	for len(frames) > 0 {
		link := frames[0].Link
		n := 1
		for n < len(frames) && frames[n].Link == link {
			n++
		}
		program, ok := f.programs[link]
		if !ok {
			var wrong *FilterError
			if program, wrong = f.compile(link); wrong != nil {
				wrong.Reason = "it has no meaning on link type " + link.Name() + ": " + wrong.Reason
				f.unfit = append(f.unfit, wrong)
			}
			f.programs[link] = program
		}
		if program != nil {
			kept = f.keep(kept, b, frames[:n], program)
		}
		frames = frames[n:]
	}
	b.Frames = kept
}

func (f *filter) keep(kept []packet.Frame, b *packet.Batch, frames []packet.Frame, program *C.struct_bpf_program) []packet.Frame {
	f.offset, f.captured, f.wire = f.offset[:0], f.captured[:0], f.wire[:0]
	for i := range frames {
		f.offset = append(f.offset, C.u_int(frames[i].Offset))
		f.captured = append(f.captured, C.u_int(frames[i].CapLen))
		f.wire = append(f.wire, C.u_int(frames[i].WireLen))
	}
	if cap(f.match) < len(frames) {
		f.match = make([]C.u_char, cap(f.offset))
	}
	match := f.match[:len(frames)]
	C.netwhy_match(program, (*C.u_char)(unsafe.SliceData(b.Buf)), &f.offset[0], &f.captured[0], &f.wire[0], &match[0], C.int(len(frames)))
	for i := range frames {
		if match[i] != 0 {
			kept = append(kept, frames[i])
		}
	}
	return kept
}

// close gives libpcap's memory back.
func (f *filter) close() {
	for link, p := range f.programs {
		if p != nil {
			C.netwhy_freecode(p)
			C.free(unsafe.Pointer(p))
		}
		delete(f.programs, link)
	}
}
