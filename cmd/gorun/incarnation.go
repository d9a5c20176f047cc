package main

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// incarnation describes a process that is or was a rank.
type incarnation struct {
	generation     int // the last generation of the job in which the process was a rank
	pid            int
	host           string
	started, ended time.Time // ended is zero while the process runs
	last           []string  // the last operations of the process, if a signal has ended it

	// The fields below have the values of the fields of rank with the same names.
	status syscall.WaitStatus
	usage  unix.Rusage
	joined bool
	lost   string
}

// incarnation describes the current process of the rank. It does not set generation.
func (r *rank) incarnation() incarnation {
	return incarnation{
		pid: r.pid, host: r.host, started: r.started, ended: r.ended, last: r.last,
		status: r.status, usage: r.usage, joined: r.joined, lost: r.lost,
	}
}

// revert undoes a call of rank.again, because no new process has become the rank: the former process of the rank is
// its current process again.
func (r *rank) revert() {
	n := len(r.before) - 1
	i := r.before[n]
	r.before = r.before[:n]
	r.epoch--
	r.starting = false
	r.pid, r.host, r.started, r.ended, r.last = i.pid, i.host, i.started, i.ended, i.last
	r.status, r.usage, r.joined, r.lost = i.status, i.usage, i.joined, i.lost
}

// in returns the process that was the rank in a generation, if another process has replaced it since then. If
// the current process was the rank in that generation, in returns nil.
func (r *rank) in(generation int) *incarnation {
	for i := range r.before {
		if generation <= r.before[i].generation {
			return &r.before[i]
		}
	}
	return nil
}
