package iwarp

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
)

// frameReader collects an MPA frame from a socket, and not a byte more.
type frameReader struct{ held []byte }

// read reads what has arrived. Without the whole frame yet the error is
// mpa.ErrShort; ErrHungUp, the system's error or that of the frame end it. The
// frame's private data lies in the reader.
func (r *frameReader) read(fd int, s *sealed) (mpa.Frame, error) {
	for {
		f, _, err := mpa.ParseFrame(r.held)
		if !errors.Is(err, mpa.ErrShort) {
			return f, err
		}
		at := len(r.held)
		r.held = append(r.held, make([]byte, mpa.Missing(r.held))...)
		n, errno := hear(fd, s, r.held[at:])
		r.held = r.held[:at+max(n, 0)]
		switch {
		case errno == unix.EINTR:
		case errno == unix.EAGAIN:
			return mpa.Frame{}, mpa.ErrShort
		case errno != 0:
			return mpa.Frame{}, fmt.Errorf("%w: %w", ErrHungUp, systemError("receive", errno))
		case n == 0:
			return mpa.Frame{}, ErrHungUp
		}
	}
}
