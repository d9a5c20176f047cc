package iwarp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// sealedMax is what is encrypted at a time, before it is sent: what a record of TLS holds.
	sealedMax = 16 << 10
	// sealedKeep is the memory for ciphertext that a connection keeps.
	sealedKeep = 64 << 10
)

// sealed is TLS on a socket of a queue pair: everything but the bytes of the socket goes
// through it. crypto/tls blocks where a socket would, and sockets here do not.
//
//	writes     never block: ciphertext is kept in out, and flush sends it
//	reads      fail with errAgain, an error that crypto/tls passes on and forgets
//	handshake  is one long call, so that it has a goroutine of its own. It runs only while the
//	           one that polls waits for it (step), so that all of it is under the adapter's lock
type sealed struct {
	fd   int
	conn *tls.Conn
	// out is ciphertext from sent on.
	out  []byte
	sent int
	// resume lets the handshake go on, stopped tells that it waits for more bytes or, if done,
	// has ended with err.
	resume, stopped chan struct{}
	begun, done     bool
	err             error
	// ahead is the first record of the active side, which is collected, all of it (heard), before
	// TLS sees it: who sends none costs no goroutine.
	ahead []byte
	heard bool
	// in and said are the bytes that came and went.
	in, said int64
	// cut says that the socket has ended, closed that the peer has said so before.
	cut bool
	// fault is why the stream is lost.
	fault error
}

// seal puts TLS on a socket.
func (d *device) seal(fd int, active bool) *sealed {
	c := d.provider.secure.Load()
	if c == nil {
		return nil
	}
	s := &sealed{fd: fd, resume: make(chan struct{}), stopped: make(chan struct{})}
	if active {
		s.conn, s.heard = tls.Client((*sealedSocket)(s), c.active()), true
	} else {
		s.conn = tls.Server((*sealedSocket)(s), c.passive)
	}
	return s
}

// step goes on with the handshake as far as the bytes go that have come. It returns true
// when it has ended well.
func (s *sealed) step() (bool, error) {
	if s.done {
		return true, nil
	}
	if err := s.collect(); err != nil {
		return false, err
	}
	if s.begun {
		s.resume <- struct{}{}
	} else {
		s.begun = true
		go func() {
			s.err = s.conn.Handshake()
			s.done = true
			s.stopped <- struct{}{}
		}()
	}
	<-s.stopped
	if s.done && s.err != nil {
		_ = s.flush() // the peer may want to know
		return false, fmt.Errorf("%w: %w", ErrNotSealed, s.err)
	}
	if errno := s.flush(); errno != 0 { // an empty send buffer takes a flight at once
		return false, systemError("send", errno)
	}
	return s.done, nil
}

// Worn implements provider.Wearer.
func (p *queuePair) Worn() bool {
	s := p.sealed
	return s != nil && max(s.in, s.said) >= p.device.config.SealedMax
}

// stop ends a handshake that is under way.
func (s *sealed) stop() {
	if s != nil && s.begun && !s.done {
		close(s.resume)
		<-s.stopped
	}
}

// read reads from the stream, as receive does from a socket.
func (s *sealed) read(b []byte) (int, syscall.Errno) {
	n, err := s.conn.Read(b)
	switch {
	case n > 0:
		return n, 0
	case err == errAgain: //nolint:errorlint // as sealedSocket returns it, in every poll without data
		return 0, unix.EAGAIN
	case errors.Is(err, io.EOF) && !s.cut:
		return 0, 0
	case errors.Is(err, io.EOF) || s.cut:
		s.fault = ErrTruncated
	case s.fault == nil:
		s.fault = fmt.Errorf("%w: %w", ErrNotSealed, err)
	}
	return 0, unix.EPROTO
}

// add encrypts b.
func (s *sealed) add(b []byte) {
	_, _ = s.conn.Write(b) // out takes everything, and a conn that has failed shows in a read
}

// addAll encrypts several pieces of memory, in records as long as can be, and returns their
// length. What is ready is sent meanwhile.
func (s *sealed) addAll(d *device, v []unix.Iovec) int {
	if len(v) == 1 && v[0].Len <= sealedMax {
		s.add(bytesOf(&v[0]))
		return int(v[0].Len)
	}
	if d.plaintext == nil {
		d.plaintext = make([]byte, 0, sealedMax)
	}
	n, held := 0, d.plaintext
	for i := range v {
		for b := bytesOf(&v[i]); len(b) > 0; {
			k := min(len(b), sealedMax-len(held))
			if k < sealedMax {
				held = append(held, b[:k]...)
			} else {
				held = b[:k] // a record of its own, where it lies
			}
			n += k
			if b = b[k:]; len(held) == sealedMax {
				s.add(held)
				held = d.plaintext
			}
			if len(s.out)-s.sent >= sealedKeep {
				_ = s.flush() // an error shows when all is to be sent
			}
		}
	}
	if len(held) > 0 {
		s.add(held)
	}
	return n
}

// pending reports whether ciphertext is left to be sent.
func (s *sealed) pending() bool { return s.sent < len(s.out) }

// flush sends ciphertext. It returns EAGAIN while some is left.
func (s *sealed) flush() syscall.Errno {
	for s.pending() {
		n, errno := send(s.fd, &s.out[s.sent], len(s.out)-s.sent)
		switch errno {
		case 0:
			s.sent += n
			s.said += int64(n)
		case unix.EINTR:
		default:
			return errno
		}
	}
	s.sent = 0
	if s.out = s.out[:0]; cap(s.out) > sealedKeep {
		s.out = nil
	}
	return 0
}

// last encrypts the last bytes of a stream and returns all that is left to send. Without TLS
// that is what it was given.
func (s *sealed) last(last []byte) []byte {
	if s == nil {
		return last
	}
	if len(last) > 0 {
		s.add(last)
	}
	_ = s.conn.CloseWrite() // as add
	return s.out[s.sent:]
}

// say writes b, all of it at once, to a socket or through TLS on it.
func say(fd int, s *sealed, b []byte) syscall.Errno {
	if s != nil {
		s.add(b)
		return s.flush()
	}
	n, errno := send(fd, &b[0], len(b))
	if errno == 0 && n < len(b) {
		return unix.EAGAIN
	}
	return errno
}

// hear is receive, or a read through TLS.
func hear(fd int, s *sealed, b []byte) (int, syscall.Errno) {
	if s != nil {
		return s.read(b)
	}
	return receive(fd, b)
}

// sealedSocket is the socket as crypto/tls sees it.
type sealedSocket sealed

var _ net.Conn = (*sealedSocket)(nil)

// Read implements net.Conn.
func (w *sealedSocket) Read(b []byte) (int, error) {
	s := (*sealed)(w)
	if len(s.ahead) > 0 {
		n := copy(b, s.ahead)
		if s.ahead = s.ahead[n:]; len(s.ahead) == 0 {
			s.ahead = nil
		}
		return n, nil
	}
	for {
		n, errno := receive(s.fd, b)
		switch {
		case errno == unix.EINTR:
		case errno == unix.EAGAIN && s.done:
			return 0, errAgain
		case errno == unix.EAGAIN:
			s.stopped <- struct{}{}
			if _, ok := <-s.resume; !ok {
				return 0, net.ErrClosed
			}
		case errno != 0:
			s.fault = systemError("receive", errno)
			return 0, s.fault
		case n == 0:
			s.cut = true
			return 0, io.EOF
		default:
			s.in += int64(n)
			return n, nil
		}
	}
}

// Write implements net.Conn.
func (w *sealedSocket) Write(b []byte) (int, error) {
	w.out = append(w.out, b...)
	return len(b), nil
}

// Close implements net.Conn: the socket is its owner's.
func (w *sealedSocket) Close() error { return nil }

// LocalAddr, RemoteAddr and the deadlines are not used.
func (w *sealedSocket) LocalAddr() net.Addr              { return nil }
func (w *sealedSocket) RemoteAddr() net.Addr             { return nil }
func (w *sealedSocket) SetDeadline(time.Time) error      { return nil }
func (w *sealedSocket) SetReadDeadline(time.Time) error  { return nil }
func (w *sealedSocket) SetWriteDeadline(time.Time) error { return nil }

// errAgain says that nothing has come. It is temporary, so that crypto/tls goes on.
var errAgain error = againError{}

type againError struct{}

func (againError) Error() string   { return "nothing has come" }
func (againError) Timeout() bool   { return true }
func (againError) Temporary() bool { return true }
