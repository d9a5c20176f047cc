package main

import "time"

// incarnation describes a process that is or was a rank.
type incarnation struct {
	generation     int // the last generation of the job in which the process was a rank
	pid            int
	host           string
	started, ended time.Time // ended is zero while the process runs
	last           []string  // the last operations of the process, if a signal has ended it
}

// incarnation describes the current process of the rank. It does not set generation.
func (r *rank) incarnation() incarnation {
	return incarnation{pid: r.pid, host: r.host, started: r.started, ended: r.ended, last: r.last}
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
