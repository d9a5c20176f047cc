package main

import (
	"errors"
	"sync"
	"time"
)

// failureDelay is how long gorun waits for the other hosts after one host has failed. If several hosts
// have the same fault, the report names all hosts that answer in this time.
const failureDelay = 5 * time.Second

// errNoJob is the reason for which the connection to a host is given up when another host has failed.
var errNoJob = errors.New("another host has failed, and there will be no job")

// failures ends all waits for hosts failureDelay after the first host has failed. The zero value has no
// failure.
type failures struct {
	mu      sync.Mutex // guards the fields below
	failed  bool
	expired bool // failureDelay has passed since the first failure
	next    int  // the key of waiting that was used last
	waiting map[int]func()
}

// await registers the function give. When failureDelay has passed after the first failure, a goroutine of its
// own calls give. The caller prevents this call by calling leave earlier.
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

// first starts the time of failureDelay if no host has failed before. It is called after each failure of a
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
