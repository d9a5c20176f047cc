package main

import (
	"errors"
	"sync"
	"time"
)

// failureDelay is how long gorun waits for the other hosts after one host has failed. If several hosts
// have the same fault, the report names all hosts whose failure becomes known in this time.
const failureDelay = 5 * time.Second

// errNoJob is the reason for which the connection to a host is given up when another host has failed, when the
// launcher cannot read a file that -copy sends, or when failures.interrupt was called.
var errNoJob = errors.New("another host has failed, and there will be no job")

// failures ends all waits for hosts when failureDelay has passed after the first failure of a host, or when
// interrupt is called. The zero value has no failure.
type failures struct {
	mu      sync.Mutex // guards the fields below
	failed  bool
	expired bool  // failureDelay has passed since the first failure, or interrupt was called
	cause   error // of interrupt, or nil
	next    int   // the last key that was used in the map waiting
	waiting map[int]func()
}

// await registers the function give. When failureDelay has passed after the first failure, or when interrupt is
// called, a goroutine of its own calls give. The caller prevents this call by calling leave earlier.
func (f *failures) await(give func()) (leave func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.expired {
		go give()
		return func() {}
	}
	if f.waiting == nil {
		f.waiting = map[int]func(){}
	}
	f.next++
	number := f.next
	f.waiting[number] = give
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.waiting, number)
	}
}

// first starts the timer of failureDelay if no host has failed before. It is called after each failure of a
// host.
func (f *failures) first() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed {
		return
	}
	f.failed = true
	time.AfterFunc(failureDelay, f.expire)
}

// interrupt ends all waits at once, because of an error that is not the failure of a host.
func (f *failures) interrupt(cause error) {
	f.mu.Lock()
	f.failed, f.cause = true, cause
	f.mu.Unlock()
	f.expire()
}

// interrupted returns the argument of interrupt, or nil if interrupt was not called.
func (f *failures) interrupted() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cause
}

// expire calls the functions of all callers of await that have not called leave.
func (f *failures) expire() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.expired = true
	for _, give := range f.waiting {
		go give()
	}
	f.waiting = nil
}
