package main

import (
	"sync"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// window counts the bytes of a stream that may still be sent, or be received.
type window struct {
	mu     sync.Mutex // guards what follows
	more   *sync.Cond
	room   int // at most link.WindowBytes
	closed bool
}

func newWindow() *window {
	w := &window{room: link.WindowBytes}
	w.more = sync.NewCond(&w.mu)
	return w
}

// wait waits for room and returns how much there is, 0 if the window was closed.
func (w *window) wait() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.room <= 0 && !w.closed {
		w.more.Wait()
	}
	if w.closed {
		return 0
	}
	return w.room
}

// take takes n bytes of the room. It reports false if there is not so much.
func (w *window) take(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n > w.room {
		return false
	}
	w.room -= n
	return true
}

// give returns n bytes. It reports false if fewer were taken.
func (w *window) give(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n > link.WindowBytes-w.room {
		return false
	}
	w.room += n
	w.more.Broadcast()
	return true
}

// close ends all waiting.
func (w *window) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.more.Broadcast()
}
