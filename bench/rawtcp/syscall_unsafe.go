package main

import (
	"syscall"
	"unsafe"
)

// The system calls bypass Go's scheduler. They return at once, and a notification of the scheduler would take
// about as long as the call itself.

// trySend sends the bytes for which the socket has room now, and returns their number.
func trySend(fd int, b []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)),
		syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL, 0, 0)
	return int(n), errno
}

// tryReceive receives the bytes that have arrived, and returns their number.
func tryReceive(fd int, b []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)),
		syscall.MSG_DONTWAIT, 0, 0)
	return int(n), errno
}
