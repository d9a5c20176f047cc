package iwarp

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls of the data path go past Go's scheduler: on non-blocking descriptors they
// return at once, and telling the scheduler would cost as much as the call.

// receive reads from a socket. It returns the errno as it is, 0 for none.
func receive(fd int, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), unix.MSG_DONTWAIT, 0, 0)
	return int(n), errno
}

// receiveVector reads from a socket into several places.
func receiveVector(fd int, v []unix.Iovec) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(unix.SYS_READV, uintptr(fd), uintptr(unsafe.Pointer(&v[0])), uintptr(len(v)))
	return int(n), errno
}

// send writes to a socket.
func send(fd int, p *byte, n int) (int, syscall.Errno) {
	m, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(p)), uintptr(n), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	return int(m), errno
}

// sendVector writes to a socket from several places. The header is the caller's
// scratch, kept out of the call so that it need not be allocated.
func sendVector(fd int, h *unix.Msghdr, v []unix.Iovec) (int, syscall.Errno) {
	h.Iov = &v[0]
	h.SetIovlen(len(v))
	n, _, errno := syscall.RawSyscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(h)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	return int(n), errno
}

// harvestEvents takes what epoll has, without waiting.
func harvestEvents(fd int, events []unix.EpollEvent) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(fd), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), 0, 0, 0)
	return int(n), errno
}

// addressOf returns the address of the first byte: the tagged offset by which peers
// name it. Memory of the heap does not move in Go, and what is registered is kept
// alive by the region.
func addressOf(p []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(p)))) }

// line is the length of a line of the cache: more often than not.
const line = 64

// linePhase returns how far into a line something has to begin so that what follows n
// bytes later lies in its lines as p does. Copies between places that do not lie alike
// take three times as long.
func linePhase(p []byte, n int) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(p)))-uintptr(n)) & (line - 1)
}

// bytesOf returns the bytes of an iovec.
func bytesOf(v *unix.Iovec) []byte { return unsafe.Slice(v.Base, v.Len) }

// overlap reports whether two pieces of memory have a byte in common.
func overlap(p, q []byte) bool {
	return len(p) > 0 && len(q) > 0 &&
		addressOf(p) < addressOf(q)+uint64(len(q)) && addressOf(q) < addressOf(p)+uint64(len(p))
}

// advance drops the first n bytes of an iovec that has more.
func advance(v *unix.Iovec, n int) {
	v.Base = (*byte)(unsafe.Add(unsafe.Pointer(v.Base), n))
	v.SetLen(int(v.Len) - n)
}
