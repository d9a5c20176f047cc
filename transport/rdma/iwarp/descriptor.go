package iwarp

import (
	"golang.org/x/sys/unix"
)

// descriptors is how many descriptors the process may have. Most of them are for the
// program, which may need them at any time; any process that knows the address of a
// listener makes it accept.
type descriptors uint64

// Shares of the descriptors.
const (
	// shareOfStrangers is the part that connections without a request may have at a
	// listener.
	shareOfStrangers = 8
	// shareSpared is the part that no accepted connection takes, sparedMin and sparedMax
	// are the bounds of it.
	shareSpared = 16
	sparedMin   = 4
	sparedMax   = 64
)

// descriptorLimit returns what holds now: a program may change it.
func descriptorLimit() descriptors {
	var limit unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) // it fails for no resource that there is
	return descriptors(limit.Cur)
}

// share returns how many connections may be without a request at a listener, at least
// one.
func (n descriptors) share() int { return int(max(min(n, 1<<20)/shareOfStrangers, 1)) }

// spared reports whether a descriptor is one of the last, which are the program's. The
// system gives out the lowest number that is free, so that one near the limit says that
// nearly all are taken.
func (n descriptors) spared(fd int) bool {
	return descriptors(fd)+min(max(n/shareSpared, sparedMin), sparedMax) >= n
}

// lowest gives a socket the lowest descriptor that is free, if that is a lower one.
func lowest(fd int) int {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	switch {
	case err != nil:
		return fd
	case n > fd:
		fd, n = n, fd
	}
	_ = unix.Close(fd) // the socket has the other one
	return n
}
