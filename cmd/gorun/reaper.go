package main

import (
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// exit records the end of the process of a rank or of a spare.
type exit struct {
	rank   *rank
	at     time.Time
	status syscall.WaitStatus
	usage  unix.Rusage
	last   []string // last operations of a remote rank
}

// children are the processes of ranks and spares that the reaper waits for.
type children struct {
	mu      sync.Mutex // guards what follows; held while a rank is started again, or a spare is started
	byPID   map[int]*rank
	reaping bool
	started int // number of ranks that were started again, and of spares
}

// begin registers the processes of the ranks that the job begins with.
func (c *children) begin(ranks []*rank) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byPID, c.reaping = make(map[int]*rank, len(ranks)), true
	for _, r := range ranks {
		c.byPID[r.child] = r
	}
}

// start starts a rank again, or a spare, and registers its process. If the reaper has ended, start starts the
// reaper again.
func (c *children) start(r *rank, spawn func(*rank) error, reap func()) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := spawn(r); err != nil {
		return err
	}
	c.byPID[r.child] = r
	c.started++
	if !c.reaping {
		c.reaping = true
		go reap()
	}
	return nil
}

// rename assigns a process to another rank. It returns false if the process has ended.
func (c *children) rename(pid int, r *rank) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byPID[pid] == nil {
		return false
	}
	c.byPID[pid] = r
	return true
}

// find removes a process and returns its rank or spare. It returns nil if the process belongs to neither.
func (c *children) find(pid int) *rank {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.byPID[pid]
	delete(c.byPID, pid)
	return r
}

// count returns how many ranks were started again, plus the number of spares that were started.
func (c *children) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.started
}

// end returns false if a process was started after count had returned the value started. Otherwise end marks the
// reaper as ended and returns true.
func (c *children) end(started int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.started == started {
		c.reaping = false
	}
	return !c.reaping
}

// beginReaping starts the reaper after the first processes were started.
func (n *node) beginReaping() {
	n.children.begin(n.ranks)
	go n.reap()
}

// reap waits for every child of this process, including orphans that became its children, and
// reports those that are ranks or spares. It ends when there are no more children.
func (n *node) reap() {
	for {
		started := n.children.count()
		// awaitChild leaves the process a zombie. Until the zombie is reaped, its ID cannot be the ID of
		// another process or process group. For this reason, the lookup and the kill below refer to the process
		// that has ended.
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
