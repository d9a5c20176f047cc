package viewer

import (
	"os"

	"golang.org/x/sys/unix"
)

// screen is a terminal that reports errors of writing, because package tea ignores them.
type screen struct {
	*os.File
	failed func(err error)
}

// Write writes to the terminal, and calls failed if that fails.
func (s *screen) Write(p []byte) (int, error) {
	n, err := s.File.Write(p)
	if err != nil {
		s.failed(err)
	}
	return n, err
}

// quieten prepares a terminal from which this process reads no keys, until the returned function is called.
// The terminal then does not echo keys (ECHO), and does not discard pending output at Ctrl-C (NOFLSH,
// termios(3)). The pending output may contain the bytes that make the terminal leave the alternate screen.
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
