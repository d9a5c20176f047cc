package main

import (
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// exit is the end of a rank.
type exit struct {
	rank   *rank
	at     time.Time
	status syscall.WaitStatus
	usage  unix.Rusage
	last   []string // operations of a remote rank
}

// children are the processes of ranks that the reaper knows.
type children struct {
	mu      sync.Mutex // guards what follows; held while a rank is started again
	byPID   map[int]*rank
	reaping bool
	started int // ranks that were started again
}

// begin makes the reaper know the ranks that were started at first.
func (c *children) begin(ranks []*rank) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byPID, c.reaping = make(map[int]*rank, len(ranks)), true
	for _, r := range ranks {
		c.byPID[r.pid] = r
	}
}

// start starts a rank again, and the reaper if it has ended.
func (c *children) start(r *rank, spawn func(*rank) error, reap func()) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := spawn(r); err != nil {
		return err
	}
	c.byPID[r.pid] = r
	c.started++
	if !c.reaping {
		c.reaping = true
		go reap()
	}
	return nil
}

// rename makes a process that of another rank. It returns false if the process has ended.
func (c *children) rename(pid int, r *rank) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byPID[pid] == nil {
		return false
	}
	c.byPID[pid] = r
	return true
}

// find returns the rank of a process, nil if it is none, and forgets it.
func (c *children) find(pid int) *rank {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.byPID[pid]
	delete(c.byPID, pid)
	return r
}

// count returns how many ranks were started again.
func (c *children) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.started
}

// end ends the reaper, unless a rank was started since there were so many.
func (c *children) end(started int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.started == started {
		c.reaping = false
	}
	return !c.reaping
}

// beginReaping starts the reaper when the first processes run.
func (n *node) beginReaping() {
	n.children.begin(n.ranks)
	go n.reap()
}

// reap collects every child of this process, orphans that became its children among
// them, and reports the ranks. It ends when there is no child any more.
func (n *node) reap() {
	for {
		started := n.children.count()
		// The process is looked up first: until a zombie is collected, its ID cannot be
		// that of another process or group.
		pid, errno := awaitChild()
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			if n.children.end(started) {
				return
			}
			continue
		}
		r := n.children.find(pid)
		if r != nil {
			// The rest of the rank's process group is killed before the end of the rank is
			// reported.
			_ = unix.Kill(-pid, unix.SIGKILL)
		}
		x := exit{rank: r, at: time.Now()}
		var status unix.WaitStatus
		if _, err := unix.Wait4(pid, &status, 0, &x.usage); err != nil {
			continue
		}
		x.status = syscall.WaitStatus(status)
		if r != nil {
			n.exits <- x
		}
	}
}
