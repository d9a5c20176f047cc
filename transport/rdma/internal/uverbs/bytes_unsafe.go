package uverbs

import (
	"encoding/binary"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// bytesOf returns the memory of a structure of the ABI.
func bytesOf[T any](v *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))
}

// at returns the structure that begins at an offset of b. It panics if b does not contain the
// whole structure.
func at[T any](b []byte, offset int) *T {
	var v T
	b = b[offset : offset+int(unsafe.Sizeof(v))]
	return (*T)(unsafe.Pointer(unsafe.SliceData(b)))
}

// arrayOf returns the array of n structures at the beginning of b. It panics if b does not contain
// the whole array.
func arrayOf[T any](b []byte, n int) []T {
	var v T
	b = b[:n*int(unsafe.Sizeof(v))]
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// sizeOf returns the size of a structure in bytes.
func sizeOf[T any]() int {
	var v T
	return int(unsafe.Sizeof(v))
}

// addressOf returns the address of the first byte of b. The address of mapped memory is stable. The
// address of allocated memory is stable, too, because the garbage collector of today's Go does not
// move memory of the heap.
func addressOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// setResponse makes the kernel write the answer of a command to out. It writes the address of out
// into the field response of the command. The bytes of the command are in the argument in.
func setResponse(in, out []byte) {
	binary.NativeEndian.PutUint64(in[sizeOf[header]():], addressOf(out))
}

// ring writes a command to the device file without telling Go's scheduler. The command must not
// sleep in the kernel.
func ring(fd int, command []byte) syscall.Errno {
	_, _, errno := syscall.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(command))), uintptr(len(command)))
	return errno
}
