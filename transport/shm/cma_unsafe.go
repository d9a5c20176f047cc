//go:build linux && !portable

package shm

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// rawBytes is the length in bytes up to which a copy uses a raw system call, which keeps the P of
// Go's scheduler. A copy of at most this length takes less time than releasing the P and acquiring
// it again.
const rawBytes = 64 << 10

// processRead copies up to len(dst) bytes at addr of another process to dst. It returns the number
// of bytes copied.
func processRead(pid int, dst []byte, addr uint64) (int, error) {
	return processCopy(unix.SYS_PROCESS_VM_READV, pid, dst, addr)
}

// processWrite copies up to len(src) bytes of src to addr of another process. It returns the number
// of bytes copied.
func processWrite(pid int, src []byte, addr uint64) (int, error) {
	return processCopy(unix.SYS_PROCESS_VM_WRITEV, pid, src, addr)
}

func processCopy(trap uintptr, pid int, b []byte, addr uint64) (int, error) {
	local := unix.Iovec{Base: unsafe.SliceData(b)}
	local.SetLen(len(b))
	remote := unix.RemoteIovec{Base: uintptr(addr), Len: len(b)}
	var n uintptr
	var errno unix.Errno
	if len(b) <= rawBytes {
		n, _, errno = unix.RawSyscall6(trap, uintptr(pid), uintptr(unsafe.Pointer(&local)), 1,
			uintptr(unsafe.Pointer(&remote)), 1, 0)
	} else {
		n, _, errno = unix.Syscall6(trap, uintptr(pid), uintptr(unsafe.Pointer(&local)), 1,
			uintptr(unsafe.Pointer(&remote)), 1, 0)
	}
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
