package rdmacm

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// file is the Driver that uses the device file of the kernel. The descriptor stays open until the
// last command has ended, because after the close another file may get the descriptor's number.
type file struct {
	fd    int
	write func(fd int, p []byte) (int, error) // unix.Write

	// mu guards the variables below it.
	mu     sync.Mutex
	users  int // calls that use the descriptor
	closed bool
}

// enter begins a use of the descriptor. It fails after Close.
func (f *file) enter() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return os.ErrClosed
	}
	f.users++
	return nil
}

// leave ends a use of the descriptor. After Close, the last call of leave closes the descriptor.
func (f *file) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.users--
	if f.closed && f.users == 0 {
		_ = unix.Close(f.fd)
	}
}

// Do implements Driver.
func (f *file) Do(c *Command) error {
	if err := f.enter(); err != nil {
		return err
	}
	defer f.leave()
	text := make([]byte, headerSize+len(c.Body))
	w := words(text)
	w.put32(headerCommand, c.Number)
	w.put16(headerIn, uint16(len(c.Body)))
	w.put16(headerOut, uint16(len(c.Memory)))
	copy(text[headerSize:], c.Body)
	if len(c.Memory) > 0 {
		release := pin(text[headerSize+c.Pointer:], c.Memory)
		defer release()
	}
	for {
		n, err := f.write(f.fd, text)
		switch {
		case errors.Is(err, unix.EINTR): // siw connects its socket within the command, which a signal interrupts
		case err != nil:
			return err
		case n != len(text):
			return fmt.Errorf("%w: %d of %d bytes", io.ErrShortWrite, n, len(text))
		default:
			return nil
		}
	}
}

// Ready implements Driver.
func (f *file) Ready() bool {
	if f.enter() != nil {
		return true // the caller then calls Do, which returns the error
	}
	defer f.leave()
	p := [1]unix.PollFd{{Fd: int32(f.fd), Events: unix.POLLIN}}
	n, err := unix.Poll(p[:], 0)
	return n != 0 || err != nil
}

// Descriptor implements Driver.
func (f *file) Descriptor() int { return f.fd }

// Close implements Driver.
func (f *file) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return os.ErrClosed
	}
	f.closed = true
	if f.users > 0 {
		return nil
	}
	return unix.Close(f.fd)
}
