package rdma

import (
	"sync/atomic"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// corking decides which requests begin together: a system call for each is most of
// what a small message costs over TCP.
//
// What is posted during a Poll (answers, Reads, credits) begins at its end. Outside
// of Poll the first request after one begins at once, which is what a dialogue
// needs; small ones that follow another on the same connection closely are held back
// until the next Poll, which comes when the program waits for something, or until a
// timer ends. A rank that is armed holds nothing back. What is held back dies with a
// process that is killed.
type corking struct {
	armed bool
	// timer begins what no Poll has begun; running says that it runs.
	timer   *time.Timer
	running atomic.Bool
	// fresh says that nothing was posted since the last Poll.
	fresh bool
	// base is what times are measured from, which is cheaper than the time of day.
	base time.Time
	// held says that something is held back.
	held bool
}

const (
	// corkBytes is the longest request that is held back outside of Poll.
	corkBytes = 2 << 10
	// corkWithin is how closely requests follow each other that are held back.
	corkWithin = 20 * time.Microsecond
	// corkMost is how long a request is held back, when the processor is free.
	corkMost = 100 * time.Microsecond
)

// flags returns what says whether a request of n bytes begins at once.
func (t *Transport) flags(l *link, n int) verbs.RequestFlags {
	c := &t.corked
	if !t.reading && (c.armed || c.fresh || n > corkBytes || time.Since(c.base)-l.began > corkWithin) {
		return 0
	}
	c.held = true
	if !t.reading && c.running.CompareAndSwap(false, true) {
		t.uncork()
	}
	return verbs.FlagMore
}

// began takes note that a request begins at once. It is called when it has begun, so
// that it does not wait for the clock.
func (t *Transport) began(l *link) {
	t.corked.fresh, l.began = false, time.Since(t.corked.base)
}

// uncork starts the timer.
func (t *Transport) uncork() {
	c := &t.corked
	if c.timer != nil {
		c.timer.Reset(corkMost)
		return
	}
	c.timer = time.AfterFunc(corkMost, func() {
		c.running.Store(false)
		t.adapter.Begin()
	})
}

// begin begins what was held back.
func (t *Transport) begin() {
	if t.corked.held {
		t.corked.held = false
		t.adapter.Begin()
	}
}
