package iwarp

import (
	"golang.org/x/sys/unix"
)

// farewell is a socket whose queue pair is done with it: its last bytes go out, then
// the end of the stream, and what the peer still sends is thrown away, because
// closing a socket with unread bytes in it would make TCP throw away ours (RFC 5041
// section 7.1: the Terminate has to arrive).
type farewell struct {
	entry
	device *device
	fd     int
	rest   []byte
	shut   bool
	timer  timer
}

// notice implements task.
func (f *farewell) notice(uint32) {}

// expire implements the owner of a timer.
func (f *farewell) expire() { f.end() }

// end closes the socket at once.
func (f *farewell) end() {
	if fd := f.detach(); fd >= 0 {
		reset(fd)
	}
}

// detach gives up the socket and returns it, or -1.
func (f *farewell) detach() int {
	fd := f.fd
	if fd < 0 {
		return fd
	}
	f.device.unwatch(f.fd)
	f.device.timers.stop(&f.timer)
	delete(f.device.farewells, f)
	f.fd = -1
	return fd
}

// run implements task.
func (f *farewell) run() int {
	if f.fd < 0 {
		return 0
	}
	for len(f.rest) > 0 {
		n, errno := send(f.fd, &f.rest[0], len(f.rest))
		if errno == unix.EAGAIN {
			return 0
		}
		if errno != 0 {
			f.end()
			return 1
		}
		f.rest = f.rest[n:]
	}
	if !f.shut {
		f.shut = true
		_ = unix.Shutdown(f.fd, unix.SHUT_WR) // the read below shows what is wrong
	}
	for range 16 {
		n, errno := receive(f.fd, f.device.staging)
		switch {
		case errno == unix.EAGAIN:
			return 0
		case n == 0:
			_ = unix.Close(f.detach()) // the system goes on sending what is left
			return 1
		case errno != 0:
			f.end()
			return 1
		}
	}
	f.device.later(f)
	return 1
}
