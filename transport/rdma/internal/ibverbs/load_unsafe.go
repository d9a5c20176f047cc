//go:build linux && cgo && (amd64 || arm64)

package ibverbs

/*
#cgo LDFLAGS: -ldl
#cgo noescape invoke
#cgo nocallback invoke
#cgo noescape call_errno
#cgo nocallback call_errno
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

typedef uintptr_t (*function)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

struct answer {
	uintptr_t value;
	int error;
};

// call_errno passes five arguments. A C function with fewer parameters does not read the registers
// of the other arguments.
static struct answer call_errno(uintptr_t f, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e) {
	struct answer r;
	errno = 0;
	r.value = ((function)f)(a, b, c, d, e);
	r.error = errno;
	return r;
}

static uintptr_t invoke(uintptr_t f, uintptr_t a, uintptr_t b, uintptr_t c) {
	return ((function)f)(a, b, c, 0, 0);
}

// load calls dlerror on the same thread as dlopen, because each thread has its own dlerror. If the
// variable RDMAV_ALLOW_DISASSOC_DESTROY is set, the library can destroy an object after its device
// was removed. Otherwise the destruction would fail.
static void *load(const char *name, char **why) {
	setenv("RDMAV_ALLOW_DISASSOC_DESTROY", "1", 0);
	void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	*why = handle ? NULL : dlerror();
	return handle;
}
*/
import "C"

import (
	"syscall"
	"unsafe"
)

// openLibrary loads a library. If the library cannot be loaded, handle is 0 and reason is the
// loader's text.
func openLibrary(name string) (handle uintptr, reason string, err error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	var why *C.char
	handle = uintptr(C.load(text, &why))
	if handle == 0 {
		reason = C.GoString(why)
	}
	return handle, reason, nil
}

// symbol returns the address of a function of a library, or 0.
func symbol(handle uintptr, name string) function {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	return function(uintptr(C.dlsym(*(*unsafe.Pointer)(unsafe.Pointer(&handle)), text)))
}

// call calls a C function, and returns its value and errno.
func call(f function, a, b, c, d, e uintptr) (uintptr, syscall.Errno) {
	r := C.call_errno(C.uintptr_t(f), C.uintptr_t(a), C.uintptr_t(b), C.uintptr_t(c), C.uintptr_t(d), C.uintptr_t(e))
	return uintptr(r.value), syscall.Errno(r.error)
}

// invoke calls a C function that returns an int, and returns this value without errno.
func invoke(f function, a, b, c uintptr) int {
	return int(int32(C.invoke(C.uintptr_t(f), C.uintptr_t(a), C.uintptr_t(b), C.uintptr_t(c))))
}
