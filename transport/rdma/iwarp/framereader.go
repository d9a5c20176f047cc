package iwarp

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
)

// frameReader reads an MPA frame from a socket. It reads no byte after the frame.
type frameReader struct{ held []byte }

// read reads the bytes that have arrived. As long as the frame is incomplete, it returns
// mpa.ErrShort. Every other error is final: the error of ParseFrame, ErrNotSealed if TLS has failed,
// or ErrHungUp. If a read has failed, the error wraps ErrHungUp and the cause. The private data of
// the returned frame is a part of held.
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
		case s != nil && s.fault != nil && !s.cut && errors.Is(s.fault, ErrNotSealed):
			return mpa.Frame{}, s.fault
		case s != nil && s.fault != nil:
			return mpa.Frame{}, fmt.Errorf("%w: %w", ErrHungUp, s.fault)
		case errno != 0:
			return mpa.Frame{}, fmt.Errorf("%w: %w", ErrHungUp, systemError("receive", errno))
		case n == 0:
			return mpa.Frame{}, ErrHungUp
		}
	}
}
