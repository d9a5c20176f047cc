package rdma

import (
	"sync"
	"sync/atomic"
)

// commands are what actors and other goroutines have decided and Poll carries out,
// in order. They are functions that are called under the engine's lock.
type commands struct {
	// news says that list is not empty.
	news atomic.Bool
	// mu guards the fields below it; only what wake locks is locked under it.
	mu    sync.Mutex
	list  []func()
	ended bool
	// wake makes a goroutine of the rank poll.
	wake func()
}

// add queues a command.
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

// divert has wake called from now on.
func (c *commands) divert(wake func()) {
	c.mu.Lock()
	c.wake = wake
	c.mu.Unlock()
}

// take removes all commands.
func (c *commands) take() []func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.list
	c.list = nil
	c.news.Store(false)
	return list
}

// end refuses commands from now on.
func (c *commands) end() {
	c.mu.Lock()
	c.ended, c.list = true, nil
	c.mu.Unlock()
}

// command has the next Poll call f. Any goroutine may call it at any time.
func (t *Transport) command(f func()) { t.commands.add(f) }

// obey carries out what was commanded, and returns how much that was.
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
