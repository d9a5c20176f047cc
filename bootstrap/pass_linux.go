//go:build !portable

package bootstrap

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// duplicate returns a file with a duplicate of the descriptor of f. It returns nil if f is nil.
func duplicate(f *os.File) (*os.File, error) {
	if f == nil {
		return nil, nil
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("bootstrap: duplicate the descriptor of %s: %w", f.Name(), err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// pass writes b to a Unix socket, and passes the descriptor of file with it (SCM_RIGHTS).
func pass(conn io.Writer, b []byte, file *os.File) error {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return fmt.Errorf("bootstrap: pass a descriptor: %w", errors.ErrUnsupported)
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return fmt.Errorf("bootstrap: pass a descriptor: %w", err)
	}
	n, rights := 0, unix.UnixRights(int(file.Fd()))
	var errno error
	err = raw.Write(func(fd uintptr) bool {
		for {
			n, errno = unix.SendmsgN(int(fd), b, rights, nil, unix.MSG_NOSIGNAL)
			if errno != unix.EINTR {
				return errno != unix.EAGAIN
			}
		}
	})
	if err = errors.Join(err, errno); err != nil {
		return fmt.Errorf("bootstrap: pass a descriptor: %w", err)
	}
	_, err = conn.Write(b[n:])
	return err
}

// passage reads from a Unix socket, and keeps the descriptors that are passed with the bytes.
type passage struct {
	raw   syscall.RawConn
	files []*os.File // not taken yet, in the order in which they arrived
}

// newPassage returns a reader of conn, and the passage that keeps the descriptors that are passed over conn.
// If conn is not a syscall.Conn, the reader is conn itself, and the passage stays empty.
func newPassage(conn io.Reader) (io.Reader, *passage) {
	if c, ok := conn.(syscall.Conn); ok {
		if raw, err := c.SyscallConn(); err == nil {
			p := &passage{raw: raw}
			return p, p
		}
	}
	return conn, &passage{}
}

// Read implements io.Reader.
func (p *passage) Read(b []byte) (int, error) {
	var n, controls int
	var errno error
	control := make([]byte, unix.CmsgSpace(4))
	err := p.raw.Read(func(fd uintptr) bool {
		for {
			n, controls, _, _, errno = unix.Recvmsg(int(fd), b, control, unix.MSG_CMSG_CLOEXEC)
			if errno != unix.EINTR {
				return errno != unix.EAGAIN
			}
		}
	})
	if err = errors.Join(err, errno); err != nil {
		return 0, err
	}
	if controls > 0 {
		p.keep(control[:controls])
	}
	if n == 0 && len(b) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// keep appends the descriptors in control messages to files.
func (p *passage) keep(control []byte) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return // the renewal that needs the descriptor reports that the descriptor is missing
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			p.files = append(p.files, os.NewFile(uintptr(fd), "gorun-node"))
		}
	}
}

// take returns the first file that was not taken yet, or nil if there is no such file.
func (p *passage) take() *os.File {
	if len(p.files) == 0 {
		return nil
	}
	f := p.files[0]
	p.files = p.files[1:]
	return f
}

// close closes the files that were not taken.
func (p *passage) close() {
	for _, f := range p.files {
		_ = f.Close()
	}
	p.files = nil
}

// open checks the node memory of the new generation and maps its shelf. It returns the file of the memory,
// and the mapped shelf. Both are nil if the job has no node memory.
func (r *pending) open() (*os.File, []byte, error) {
	switch {
	case r.memory == nil && r.Job.NodeRange == 0:
		return nil, nil, nil
	case r.memory == nil:
		return nil, nil, fmt.Errorf("bootstrap: renewal without the node memory: %w", ErrMalformed)
	}
	if err := checkMemory(int(r.memory.Fd()), r.Job); err != nil {
		return nil, nil, err
	}
	shelf, err := mapShelf(r.memory, r.Job)
	return r.memory, shelf, err
}
