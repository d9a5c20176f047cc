package uverbs

import (
	"encoding/binary"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// bytesOf is the memory of a structure of the kernel's.
func bytesOf[T any](v *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))
}

// at is the structure that begins at an offset of memory, which has to contain it.
func at[T any](b []byte, offset int) *T {
	var v T
	b = b[offset : offset+int(unsafe.Sizeof(v))]
	return (*T)(unsafe.Pointer(unsafe.SliceData(b)))
}

// arrayOf is the array of n structures at the beginning of memory, which has to contain it.
func arrayOf[T any](b []byte, n int) []T {
	var v T
	b = b[:n*int(unsafe.Sizeof(v))]
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// sizeOf is the size of a structure.
func sizeOf[T any]() int {
	var v T
	return int(unsafe.Sizeof(v))
}

// addressOf is where memory begins. It is stable for mapped memory and, with the collector
// of today's Go, for what was allocated: it does not move.
func addressOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// setResponse puts into a command where the kernel writes the answer.
func setResponse(in, out []byte) {
	binary.NativeEndian.PutUint64(in[sizeOf[header]():], addressOf(out))
}

// ring writes a command that does not sleep, past Go's scheduler.
func ring(fd int, command []byte) syscall.Errno {
	_, _, errno := syscall.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(command))), uintptr(len(command)))
	return errno
}
