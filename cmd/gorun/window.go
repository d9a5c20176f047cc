package main

import (
	"sync"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// window counts the bytes of a stream that may still be sent, or be received.
type window struct {
	most int // the whole window

	mu     sync.Mutex // guards what follows
	more   *sync.Cond
	room   int // at most most; less than 0 after spend
	closed bool
}

func newWindow() *window { return newWindowOf(link.WindowBytes) }

func newWindowOf(most int) *window {
	w := &window{most: most, room: most}
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

// spend takes n bytes, which may be more than the room if there is any. It reports false if
// there is none.
func (w *window) spend(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.room <= 0 {
		return false
	}
	w.room -= n
	return true
}

// whole reports whether nothing is on its way.
func (w *window) whole() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.room == w.most
}

// give returns n bytes. It reports false if fewer were taken.
func (w *window) give(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n > w.most-w.room {
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
