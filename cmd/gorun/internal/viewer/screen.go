package viewer

import (
	"os"

	"golang.org/x/sys/unix"
)

// screen is a terminal that reports when it cannot be written: package tea does not.
type screen struct {
	*os.File
	failed func(err error)
}

// Write writes to the terminal.
func (s *screen) Write(p []byte) (int, error) {
	n, err := s.File.Write(p)
	if err != nil {
		s.failed(err)
	}
	return n, err
}

// quieten prepares a terminal whose keys nobody reads, until the returned function is called. It does not show keys
// (ECHO), and keeps output that is under way at Ctrl-C (NOFLSH, termios(3)): it would drop that after the signal, which
// may be what leaves the screen.
func quieten(out *os.File) (back func()) {
	fd := int(out.Fd())
	before, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return func() {}
	}
	quiet := *before
	quiet.Lflag = quiet.Lflag&^unix.ECHO | unix.NOFLSH
	_ = unix.IoctlSetTermios(fd, unix.TCSETS, &quiet)
	return func() { _ = unix.IoctlSetTermios(fd, unix.TCSETS, before) }
}
