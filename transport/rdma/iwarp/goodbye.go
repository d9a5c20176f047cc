package iwarp

import (
	"slices"

	"golang.org/x/sys/unix"
)

const (
	// goodbyesMax bounds the sockets of a device that stay open only to send their last bytes.
	goodbyesMax = 64
	// drainMax bounds the bytes that a goodbye reads and discards. drainMax exceeds the default
	// sizes of the socket buffers of both ends. These buffers limit the number of bytes that the
	// peer may send before it receives the Terminate.
	drainMax = 16 << 20
)

// goodbye is a socket whose queue pair has ended. It sends the last bytes of the connection and
// then the end of the stream. A goodbye reads and discards the bytes that the peer still sends. If
// the socket were closed with unread bytes, TCP would discard the last bytes of this side. These
// bytes may be a Terminate, and a Terminate has to arrive (RFC 5041 section 7.1). A goodbye ends
// after Config.CloseTimeout at the latest. It ends earlier if the peer ends its stream or sends more
// than drainMax bytes, or if goodbyesMax younger goodbyes have begun.
type goodbye struct {
	entry
	device  *device
	fd      int
	rest    []byte // the bytes that are left to be sent
	shut    bool   // the end of the stream was sent
	drained int    // the number of discarded bytes
	timer   timer
}

// bid begins a goodbye, which sends the last bytes of a connection and ends it in order.
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

// expire is called when the timer of the goodbye is due.
func (f *goodbye) expire() { f.end() }

// end resets the connection at once.
func (f *goodbye) end() {
	if fd := f.detach(); fd >= 0 {
		reset(fd)
	}
}

// detach ends the goodbye and returns the socket, or -1 if the goodbye has ended before.
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
		_ = unix.Shutdown(f.fd, unix.SHUT_WR) // if Shutdown fails, the read below fails, too
	}
	for range 16 {
		n, errno := receive(f.fd, f.device.staging)
		switch {
		case errno == unix.EAGAIN:
			return 0
		case n == 0:
			_ = unix.Close(f.detach()) // TCP still sends the bytes in the send buffer
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
