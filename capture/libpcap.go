//go:build cgo && unix

package capture

/*
#cgo linux LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include "libpcap.h"

struct netwhy_pcap netwhy_pcap;

static int netwhy_load(const char *name, char *fault, size_t room) {
	struct netwhy_pcap found;
	void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (lib == NULL) {
		snprintf(fault, room, "%s", dlerror());
		return -1;
	}
#define NETWHY_LOOK(name) \
	if ((*(void **)&found.name = dlsym(lib, "pcap_" #name)) == NULL) { \
		snprintf(fault, room, "%s", dlerror()); \
		dlclose(lib); \
		return -1; \
	}
	NETWHY_PCAP(NETWHY_LOOK)
	netwhy_pcap = found;
	return 0;
}
*/
import "C"

import (
	"errors"
	"sync"
	"unsafe"
)

// loadLibpcap has to be called before any function of libpcap. Reading files
// without a filter needs none, and linking it would cost each start a millisecond
// and two megabytes.
var loadLibpcap = sync.OnceValue(func() error { //nolint:gochecknoglobals // of the process, as the library is
	var first error
	// What systems call it: Debian and Ubuntu, all other Linux, BSD, macOS.
	for _, name := range [...]string{"libpcap.so.0.8", "libpcap.so.1", "libpcap.so", "libpcap.A.dylib"} {
		err := load(name)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
})

func load(name string) error {
	var fault [256]C.char
	file := C.CString(name)
	defer C.free(unsafe.Pointer(file))
	if C.netwhy_load(file, &fault[0], C.size_t(len(fault))) != 0 {
		return errors.New(C.GoString(&fault[0]))
	}
	return nil
}

// installLibpcap is what helps where it cannot be loaded.
const installLibpcap = "install it (Debian, Ubuntu: libpcap0.8; elsewhere: libpcap)"
