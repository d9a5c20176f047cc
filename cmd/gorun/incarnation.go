package main

import "time"

// incarnation is what is known of a process that was a rank.
type incarnation struct {
	generation     int // the last one of the job that it was in
	pid            int
	host           string
	started, ended time.Time // ended is zero while it runs
	last           []string  // its last operations, if a signal has ended it
}

// incarnation is the present process of a rank.
func (r *rank) incarnation() incarnation {
	return incarnation{pid: r.pid, host: r.host, started: r.started, ended: r.ended, last: r.last}
}

// in returns the process that was the rank in a generation, nil if it is the present one.
func (r *rank) in(generation int) *incarnation {
	for i := range r.before {
		if generation <= r.before[i].generation {
			return &r.before[i]
		}
	}
	return nil
}
