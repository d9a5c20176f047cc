package main

import (
	"errors"
	"sync"
	"time"
)

// failureDelay is how long other hosts are waited for when one has failed: a fault that several
// have is reported with the names of all that answer in this time.
const failureDelay = 5 * time.Second

// errNoJob is why the connection to a host is given up when another host has failed.
var errNoJob = errors.New("another host has failed, and there will be no job")

// failures end the wait for hosts some time after the first of them has failed. The zero value
// has no failure.
type failures struct {
	mu      sync.Mutex // guards what follows
	failed  bool
	expired bool // failureDelay has passed since
	next    int
	waiting map[int]func()
}

// await calls give in a goroutine of its own failureDelay after the first failure, unless leave
// is called before.
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

// first is called when a host has failed.
func (f *failures) first() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed {
		return
	}
	f.failed = true
	time.AfterFunc(failureDelay, f.expire)
}

// expire ends the waits.
func (f *failures) expire() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.expired = true
	for _, give := range f.waiting {
		go give()
	}
	f.waiting = nil
}
