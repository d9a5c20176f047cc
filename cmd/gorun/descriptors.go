package main

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

const (
	// ownDescriptors is roughly the number of descriptors that gorun has open besides those for the
	// ranks.
	ownDescriptors = 40
	// rankDescriptors is the largest number of descriptors that gorun has open for a rank. They are the pipes
	// of standard input, output and error, the bootstrap socket, and two files of -output-dir.
	rankDescriptors = 6
)

// scarce extends an error about a limit of open files: it adds the number of descriptors that the ranks need and,
// for the limit of this process, also that limit. It returns other errors unchanged.
func scarce(err error, ranks int) error {
	switch {
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.EBADF): // EBADF: dup3 to a number above the limit, in ForkExec
		var limit unix.Rlimit
		if e := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); e != nil {
			return errors.Join(err, fmt.Errorf("getrlimit: %w", e))
		}
		return fmt.Errorf("%w: this process may have %d files open at a time, and %d ranks need up to %d: raise the limit (ulimit -Hn)",
			err, limit.Cur, ranks, ownDescriptors+rankDescriptors*ranks)
	case errors.Is(err, unix.ENFILE):
		return fmt.Errorf("%w: this machine has reached its limit of open files (sysctl fs.file-max), and %d ranks need up to %d",
			err, ranks, ownDescriptors+rankDescriptors*ranks)
	}
	return err
}
