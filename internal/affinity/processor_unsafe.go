//go:build linux

package affinity

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// processor returns the processor on which the calling thread runs (getcpu(2)), or -1 if the kernel does not tell.
func processor() int {
	var cpu uint32
	if _, _, errno := syscall.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); errno != 0 {
		return -1
	}
	return int(cpu)
}
