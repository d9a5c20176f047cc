package iwarp

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The system calls of the data path bypass Go's scheduler. On non-blocking descriptors these calls
// return at once, and informing the scheduler would cost as much as the call itself.

// receive reads from a socket. It returns the plain errno, which is 0 if there is no error.
func receive(fd int, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), unix.MSG_DONTWAIT, 0, 0)
	return int(n), errno
}

// receiveVector reads from a socket into several pieces of memory.
func receiveVector(fd int, v []unix.Iovec) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(unix.SYS_READV, uintptr(fd), uintptr(unsafe.Pointer(&v[0])), uintptr(len(v)))
	return int(n), errno
}

// send writes to a socket.
func send(fd int, p *byte, n int) (int, syscall.Errno) {
	m, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(p)), uintptr(n), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	return int(m), errno
}

// sendVector writes several pieces of memory to a socket. The caller passes the memory of the
// message header h, so that sendVector need not allocate it.
func sendVector(fd int, h *unix.Msghdr, v []unix.Iovec) (int, syscall.Errno) {
	h.Iov = &v[0]
	h.SetIovlen(len(v))
	n, _, errno := syscall.RawSyscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(h)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	return int(n), errno
}

// harvestEvents returns the events that epoll has to report. It does not wait.
func harvestEvents(fd int, events []unix.EpollEvent) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(fd), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), 0, 0, 0)
	return int(n), errno
}

// addressOf returns the address of the first byte of p, which is the tagged offset by which peers
// name this byte. The address stays valid, because Go does not move memory of the heap, and the
// region keeps registered memory reachable.
func addressOf(p []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(p)))) }

// line is the length in bytes of a cache line on most processors.
const line = 64

// linePhase returns the offset within a cache line at which n bytes of headers must begin. With
// this offset, the payload after the headers has the same offset within a cache line as p. Copies
// between memory with different offsets take three times as long.
func linePhase(p []byte, n int) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(p)))-uintptr(n)) & (line - 1)
}

// bytesOf returns the memory that an iovec describes.
func bytesOf(v *unix.Iovec) []byte { return unsafe.Slice(v.Base, v.Len) }

// overlap reports whether two pieces of memory have a byte in common.
func overlap(p, q []byte) bool {
	return len(p) > 0 && len(q) > 0 &&
		addressOf(p) < addressOf(q)+uint64(len(q)) && addressOf(q) < addressOf(p)+uint64(len(p))
}

// advance removes the first n bytes from an iovec that has more than n bytes.
func advance(v *unix.Iovec, n int) {
	v.Base = (*byte)(unsafe.Add(unsafe.Pointer(v.Base), n))
	v.SetLen(int(v.Len) - n)
}
