package rdma

import (
	"sync"
	"sync/atomic"
)

// commands is the queue of the functions by which actors and other goroutines pass their decisions
// to Poll. Poll calls these functions in order, under the engine's lock.
type commands struct {
	// news reports whether list is not empty.
	news atomic.Bool
	// mu guards the fields below it. A goroutine that holds mu acquires no other lock, except the
	// locks that wake acquires.
	mu    sync.Mutex
	list  []func()
	ended bool
	// wake makes a goroutine of the rank poll.
	wake func()
}

// add enqueues a command and calls wake. After end was called, add does nothing.
func (c *commands) add(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.list = append(c.list, f)
	c.news.Store(true)
	c.wake()
}

// divert replaces the function wake.
func (c *commands) divert(wake func()) {
	c.mu.Lock()
	c.wake = wake
	c.mu.Unlock()
}

// take removes and returns all commands.
func (c *commands) take() []func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.list
	c.list = nil
	c.news.Store(false)
	return list
}

// end discards all commands. Later commands are discarded, too.
func (c *commands) end() {
	c.mu.Lock()
	c.ended, c.list = true, nil
	c.news.Store(false)
	c.mu.Unlock()
}

// command makes the next Poll call f. Any goroutine may call it at any time.
func (t *Transport) command(f func()) { t.commands.add(f) }

// obey calls the commands that are enqueued, and returns their number.
func (t *Transport) obey() int {
	if !t.commands.news.Load() {
		return 0
	}
	list := t.commands.take()
	for _, f := range list {
		f()
	}
	return len(list)
}
