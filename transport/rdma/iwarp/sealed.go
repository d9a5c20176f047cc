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
	// sealedMax is the maximum number of bytes that addAll encrypts at a time: the maximum length of
	// a TLS record.
	sealedMax = 16 << 10
	// sealedKeep is the maximum capacity of the ciphertext buffer that a connection keeps when all
	// ciphertext is sent. When the buffer contains sealedKeep bytes, addAll sends them before it
	// encrypts more.
	sealedKeep = 64 << 10
)

// sealed is TLS on the socket of a queue pair: all bytes of the connection pass through sealed.
// crypto/tls expects a connection that blocks, but the sockets of this package do not block. So sealed
// emulates a blocking connection as follows:
//
//	writes     never block: ciphertext is appended to out, and flush sends it
//	reads      fail with errAgain if there is no data; crypto/tls returns this error and does not keep it
//	handshake  is one long call, so it has a goroutine of its own. This goroutine runs only while another
//	           goroutine waits for it in the method step or stop, so the adapter's lock protects it
type sealed struct {
	fd   int
	conn *tls.Conn
	// out[sent:] is the ciphertext that is still to be sent.
	out  []byte
	sent int
	// resume lets the handshake continue. stopped gets a value when the handshake waits for more bytes,
	// or when it has ended. If it has ended, done is true and err is its result.
	resume, stopped chan struct{}
	begun, done     bool
	err             error
	// ahead is used on the passive side: it is the first TLS record of the active side. The record is
	// collected completely before the goroutine of the handshake starts, so that a connection that sends
	// no record costs no goroutine. heard is true when the record is complete.
	ahead []byte
	heard bool
	// in is the number of bytes of ciphertext that were received from the socket, without the record in
	// ahead. said is the number of bytes of ciphertext that were sent to the socket by flush.
	in, said int64
	// cut is true when the stream of the socket has ended.
	cut bool
	// fault is the reason why the stream was lost.
	fault error
}

// seal returns TLS for a socket, or nil if the provider does not use TLS.
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

// step continues the handshake as far as possible with the bytes that have arrived. It returns true
// when the handshake has succeeded.
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
		if s.cut || s.fault != nil { // the peer has ended the connection, and TLS has found no fault
			return false, fmt.Errorf("%w: %w: %w", ErrHungUp, ErrNotSealed, s.err)
		}
		_ = s.flush() // sends the alert that tells the peer the reason
		return false, fmt.Errorf("%w: %w", ErrNotSealed, s.err)
	}
	if errno := s.flush(); errno != 0 { // the empty send buffer has room for a flight of the handshake
		return false, fmt.Errorf("%w: %w", ErrHungUp, systemError("send", errno))
	}
	return s.done, nil
}

// Worn implements provider.Wearer.
func (p *queuePair) Worn() bool {
	s := p.sealed
	return s != nil && max(s.in, s.said) >= p.device.config.SealedMax
}

// stop ends a handshake that is in progress. s may be nil.
func (s *sealed) stop() {
	if s != nil && s.begun && !s.done {
		close(s.resume)
		<-s.stopped
	}
}

// read reads decrypted bytes of the stream. Its results have the same meaning as the results of the
// function receive. The errno EPROTO means that the stream is lost, and the field fault holds the
// reason.
func (s *sealed) read(b []byte) (int, syscall.Errno) {
	n, err := s.conn.Read(b)
	switch {
	case n > 0:
		return n, 0
	case err == errAgain: //nolint:errorlint // sealedSocket returns it unwrapped, in every poll without data
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

// add encrypts b and appends the ciphertext to out.
func (s *sealed) add(b []byte) {
	_, _ = s.conn.Write(b) // a Write to out cannot fail, and a read reports a failure of conn
}

// addAll encrypts several pieces of memory, in records that are as long as possible, and returns
// the total length of the pieces. It sends ciphertext whenever sealedKeep bytes of ciphertext are
// ready.
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
				held = b[:k] // a full record, encrypted without a copy
			}
			n += k
			if b = b[k:]; len(held) == sealedMax {
				s.add(held)
				held = d.plaintext
			}
			if len(s.out)-s.sent >= sealedKeep {
				_ = s.flush() // the caller's flush will return the error
			}
		}
	}
	if len(held) > 0 {
		s.add(held)
	}
	return n
}

// pending reports whether there is ciphertext to be sent.
func (s *sealed) pending() bool { return s.sent < len(s.out) }

// flush sends the pending ciphertext. It returns EAGAIN if the socket has not taken all of it.
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

// last encrypts the last bytes of a stream and the message that ends the TLS stream. It returns all
// ciphertext that is still to be sent. If s is nil, the connection does not use TLS, and last returns
// its argument.
func (s *sealed) last(last []byte) []byte {
	if s == nil {
		return last
	}
	if len(last) > 0 {
		s.add(last)
	}
	_ = s.conn.CloseWrite() // cannot fail, because a Write to out cannot fail
	return s.out[s.sent:]
}

// say writes b to a socket, or through TLS on the socket if s is not nil. It returns EAGAIN if the
// socket has not taken all bytes at once.
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

// hear reads from a socket, or through TLS on the socket if s is not nil.
func hear(fd int, s *sealed, b []byte) (int, syscall.Errno) {
	if s != nil {
		return s.read(b)
	}
	return receive(fd, b)
}

// sealedSocket is the net.Conn that crypto/tls reads from and writes to.
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

// Close implements net.Conn. It does nothing, because the owner of the socket closes the socket.
func (w *sealedSocket) Close() error { return nil }

// LocalAddr, RemoteAddr and the deadlines are not used.
func (w *sealedSocket) LocalAddr() net.Addr              { return nil }
func (w *sealedSocket) RemoteAddr() net.Addr             { return nil }
func (w *sealedSocket) SetDeadline(time.Time) error      { return nil }
func (w *sealedSocket) SetReadDeadline(time.Time) error  { return nil }
func (w *sealedSocket) SetWriteDeadline(time.Time) error { return nil }

// errAgain reports that no data has arrived. It is a temporary error, because crypto/tls keeps any
// other error and returns it in all later reads.
var errAgain error = againError{}

type againError struct{}

func (againError) Error() string   { return "no data has arrived" }
func (againError) Timeout() bool   { return true }
func (againError) Temporary() bool { return true }
