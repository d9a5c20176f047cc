package main

import (
	"sync"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// window counts the bytes of a stream that may still be sent, or be received.
type window struct {
	most int // size of the window in bytes

	mu     sync.Mutex // guards what follows
	more   *sync.Cond
	room   int // in bytes; at most the field most; may be negative after spend
	closed bool
	lent   bool // spend takes bytes without room
}

func newWindow() *window { return newWindowOf(link.WindowBytes) }

func newWindowOf(most int) *window {
	w := &window{most: most, room: most}
	w.more = sync.NewCond(&w.mu)
	return w
}

// wait waits for room and returns its size in bytes. It returns 0 if the window was closed.
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

// take takes n bytes of the room. If the room is smaller, take returns false and takes nothing.
func (w *window) take(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n > w.room {
		return false
	}
	w.room -= n
	return true
}

// spend waits until there is any room, and takes n bytes. n may be more than the room, which is then negative. If
// the window was closed, spend returns false and takes nothing.
func (w *window) spend(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.room <= 0 && !w.lent && !w.closed {
		w.more.Wait()
	}
	if w.closed {
		return false
	}
	w.room -= n
	return true
}

// lend begins or ends a time in which spend does not wait for room.
func (w *window) lend(begin bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lent = begin
	w.more.Broadcast()
}

// whole reports whether all bytes that were taken have been given back.
func (w *window) whole() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.room == w.most
}

// give gives n bytes back to the room. If fewer than n bytes are taken, give returns false and gives nothing
// back.
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

// close ends every wait, now and later.
func (w *window) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.more.Broadcast()
}
