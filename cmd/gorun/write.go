package main

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/blocking"
)

// writeAll writes data to standard output, to standard error or to a file. Another process that shares the open file,
// such as the shell or a rank, may set it to nonblocking mode at any time. If it then takes no data, writeAll waits.
func writeAll(to *os.File, data []byte) error {
	for {
		n, err := to.Write(data)
		if !errors.Is(err, unix.EAGAIN) {
			return err
		}
		data = data[n:]
		poll := []unix.PollFd{{Fd: int32(to.Fd()), Events: unix.POLLOUT}}
		if errno := blocking.Poll(poll, nil); errno != 0 && errno != unix.EINTR {
			return errno
		}
	}
}
