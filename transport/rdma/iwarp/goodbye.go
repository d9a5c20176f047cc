package iwarp

import (
	"slices"

	"golang.org/x/sys/unix"
)

const (
	// goodbyesMax bounds the sockets of a device that are kept only to send their last
	// bytes.
	goodbyesMax = 64
	// drainMax bounds what is read of a peer that was asked to stop: more than the
	// buffers of both ends hold by default, which is what it may have sent before it is
	// notified.
	drainMax = 16 << 20
)

// goodbye is a socket whose queue pair has ended: its last bytes are sent, then the end of
// the stream, and bytes that the peer still sends are discarded, because closing a socket
// with unread bytes would make TCP discard ours (RFC 5041 section 7.1: the Terminate has to
// arrive). It ends after Config.CloseTimeout at the latest, earlier when the peer does not
// stop, or when many others begin.
type goodbye struct {
	entry
	device  *device
	fd      int
	rest    []byte
	shut    bool
	drained int
	timer   timer
}

// bid sends the last bytes of a connection and ends it in order.
func (d *device) bid(fd int, last []byte) {
	if len(d.goodbyes) == goodbyesMax {
		d.goodbyes[0].end() // the oldest one
	}
	f := &goodbye{device: d, fd: fd, rest: last}
	f.timer.owner = f
	d.goodbyes = append(d.goodbyes, f)
	if d.watch(fd, f, eventsInOut) != nil {
		f.end()
		return
	}
	d.setTimer(&f.timer, d.config.CloseTimeout)
	f.run()
}

// notice implements task.
func (f *goodbye) notice(uint32) {}

// expire implements the owner of a timer.
func (f *goodbye) expire() { f.end() }

// end closes the socket at once.
func (f *goodbye) end() {
	if fd := f.detach(); fd >= 0 {
		reset(fd)
	}
}

// detach gives up the socket and returns it, or -1.
func (f *goodbye) detach() int {
	fd := f.fd
	if fd < 0 {
		return fd
	}
	f.device.unwatch(f.fd)
	f.device.timers.stop(&f.timer)
	all := &f.device.goodbyes
	i := slices.Index(*all, f)
	*all = slices.Delete(*all, i, i+1)
	f.fd = -1
	return fd
}

// run implements task.
func (f *goodbye) run() int {
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
		case errno != 0 || f.drained+n > drainMax:
			f.end()
			return 1
		}
		f.drained += n
	}
	f.device.later(f)
	return 1
}
