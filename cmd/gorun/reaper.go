package main

import (
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
}

// reap collects every child of this process, orphans that became its children among
// them, and reports the ranks. It ends when there is no child any more.
func (n *node) reap() {
	byPID := make(map[int]*rank, len(n.ranks))
	for _, r := range n.ranks {
		byPID[r.pid] = r
	}
	for {
		// The process is looked up first: until a zombie is collected, its ID cannot be
		// that of another process or group.
		pid, errno := awaitChild()
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			return
		}
		r := byPID[pid]
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
