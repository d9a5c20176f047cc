package runtime

import (
	"io"
	"sync"
)

// wire is one end of a connection between a rank of a Local and what stands for the launcher. What is
// written arrives at the other end, in order and without bounds; Close ends the stream there after it.
type wire struct {
	other *wire
	// carry calls arrive when something arrives at the other end, in the order of its calls.
	carry func(arrive func())

	mu     sync.Mutex // guards what follows; nothing is called with it held
	news   sync.Cond
	bytes  []byte // that have arrived
	ended  bool   // nothing follows them
	closed bool
}

var _ io.ReadWriteCloser = (*wire)(nil)

// newWires returns both ends of a connection, of a rank and of the launcher. up and down carry what
// the one and the other writes.
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

// arrive takes what the other end has written, or that it was closed.
func (w *wire) arrive(b []byte, end bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.bytes, w.ended = append(w.bytes, b...), w.ended || end
	w.news.Broadcast()
}
