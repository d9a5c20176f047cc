package iwarp

import (
	"golang.org/x/sys/unix"
)

// descriptors is the number of descriptors that the process may have. The constants
// shareOfStrangers and shareSpared keep descriptors for the program, which may need them at any
// time. Without the shares, any process that knows the address of a listener could use
// up the descriptors by connecting.
type descriptors uint64

// Shares of the descriptors.
const (
	// shareOfStrangers: connections without a request may use 1/shareOfStrangers of the descriptors
	// at each listener.
	shareOfStrangers = 8
	// shareSpared: no accepted connection uses the last 1/shareSpared of the descriptors. sparedMin
	// and sparedMax bound the number of these last descriptors.
	shareSpared = 16
	sparedMin   = 4
	sparedMax   = 64
)

// descriptorLimit returns the present limit of open files. The program may change this limit at any
// time.
func descriptorLimit() descriptors {
	var limit unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) // Getrlimit fails only for an unknown resource
	return descriptors(limit.Cur)
}

// share returns the number of connections without an MPA request that a listener may have. The
// number is at least one.
func (n descriptors) share() int { return int(max(min(n, 1<<20)/shareOfStrangers, 1)) }

// spared reports whether a descriptor is one of the last descriptors, which are kept for the
// program. The operating system gives a new descriptor the lowest free number. Therefore a number
// near the limit means that nearly all descriptors are in use.
func (n descriptors) spared(fd int) bool {
	return descriptors(fd)+min(max(n/shareSpared, sparedMin), sparedMax) >= n
}

// lowest moves a socket to the lowest free descriptor if this descriptor is lower than fd. It
// returns the descriptor of the socket.
func lowest(fd int) int {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	switch {
	case err != nil:
		return fd
	case n > fd:
		fd, n = n, fd
	}
	_ = unix.Close(fd) // the socket stays open under the other number
	return n
}
