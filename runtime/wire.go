package runtime

import (
	"io"
	"sync"
)

// wire is one end of a connection between a process of LocalRespawn and the object (type restarts)
// that takes the launcher's place. Bytes written to one end arrive at the other end in order; their
// number is not bounded. After Close, the other end reads the bytes that were written before, and then io.EOF.
type wire struct {
	other *wire
	// carry delivers bytes that were written to this end: it calls arrive when they are to arrive at
	// the other end. Several calls of carry keep their order.
	carry func(arrive func())

	mu     sync.Mutex // guards the fields below it; no other lock is taken while mu is held
	news   sync.Cond  // signals changes of the fields below it
	bytes  []byte     // bytes that have arrived and have not been read
	ended  bool       // the other end was closed: no bytes follow
	closed bool       // this end was closed
}

var _ io.ReadWriteCloser = (*wire)(nil)

// newWires returns the two ends of a connection, for a rank and for the launcher. The function up
// carries the bytes that the rank writes, and down carries the bytes that the launcher writes.
func newWires(up, down func(arrive func())) (rank, launcher *wire) {
	rank, launcher = &wire{carry: up}, &wire{carry: down}
	rank.other, launcher.other = launcher, rank
	rank.news.L, launcher.news.L = &rank.mu, &launcher.mu
	return rank, launcher
}

// Read implements io.Reader.
func (w *wire) Read(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.bytes) == 0 && !w.ended && !w.closed {
		w.news.Wait()
	}
	switch {
	case w.closed:
		return 0, io.ErrClosedPipe
	case len(w.bytes) == 0:
		return 0, io.EOF
	}
	n := copy(b, w.bytes)
	w.bytes = w.bytes[n:]
	return n, nil
}

// Write implements io.Writer.
func (w *wire) Write(b []byte) (int, error) {
	w.mu.Lock()
	closed := w.closed
	w.mu.Unlock()
	if closed {
		return 0, io.ErrClosedPipe
	}
	copied := append([]byte(nil), b...)
	w.carry(func() { w.other.arrive(copied, false) })
	return len(b), nil
}

// Close implements io.Closer. It may be called more than once.
func (w *wire) Close() error {
	w.mu.Lock()
	again := w.closed
	w.closed, w.bytes = true, nil
	w.news.Broadcast()
	w.mu.Unlock()
	if !again {
		w.carry(func() { w.other.arrive(nil, true) })
	}
	return nil
}

// arrive appends bytes that the other end has written; the argument end reports whether the other end
// was closed.
func (w *wire) arrive(b []byte, end bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.bytes, w.ended = append(w.bytes, b...), w.ended || end
	w.news.Broadcast()
}
