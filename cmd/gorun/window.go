package main

import "sync"

// window counts the bytes of a stream that may still be sent.
type window struct {
	mu     sync.Mutex // guards what follows
	more   *sync.Cond
	room   int
	closed bool
}

func newWindow(room int) *window {
	w := &window{room: room}
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

// move takes n bytes of the room, or gives them back if n is negative.
func (w *window) move(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.room -= n
	w.more.Broadcast()
}

// close ends all waiting: nobody is there any more.
func (w *window) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.more.Broadcast()
}
