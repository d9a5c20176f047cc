//go:build !linux || portable

package bootstrap

import (
	"errors"
	"io"
	"os"
)

// duplicate returns an error if f is not nil, because a job can have renewals only on Linux.
func duplicate(f *os.File) (*os.File, error) {
	if f == nil {
		return nil, nil
	}
	return nil, errors.ErrUnsupported
}

func pass(io.Writer, []byte, *os.File) error { return errors.ErrUnsupported }

// passage receives no descriptors on this system.
type passage struct{}

func newPassage(conn io.Reader) (io.Reader, *passage) { return conn, &passage{} }

func (*passage) take() *os.File { return nil }
func (*passage) close()         {}

// open maps nothing on this system.
func (r *pending) open() (*os.File, []byte, error) { return r.memory, nil, nil }
