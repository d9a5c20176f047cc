package runtime

import (
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
)

// attributes holds the values of Comm.Attribute in a linked list. New entries are added at its end. A
// lookup follows pointers and takes no lock, because every collective operation begins with a lookup.
type attributes struct {
	first atomic.Pointer[attribute]
	// mu guards adding to the list. It is not held while a value is made.
	mu sync.Mutex
}

// attribute is the entry of one key.
type attribute struct {
	key  any
	next atomic.Pointer[attribute]
	// value is valid if made is true. It does not change afterwards.
	value any
	made  atomic.Bool
	// mu is held while the value is made.
	mu sync.Mutex
}

// get returns the value of key. If key has no value, get makes one with create.
func (s *attributes) get(key any, create func() (any, error)) (any, error) {
	for a := s.first.Load(); a != nil; a = a.next.Load() {
		if a.key == key && a.made.Load() {
			return a.value, nil
		}
	}
	return s.entry(key).make(create)
}

// make returns the value of the entry, and makes it if it does not exist.
func (a *attribute) make(create func() (any, error)) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.made.Load() {
		return a.value, nil
	}
	value, err := create()
	if err != nil {
		return nil, err
	}
	a.value = value
	a.made.Store(true)
	return value, nil
}

// entry returns the entry of key. If key has no entry, it adds one.
func (s *attributes) entry(key any) *attribute {
	s.mu.Lock()
	defer s.mu.Unlock()
	end := &s.first
	for a := end.Load(); a != nil; a = end.Load() {
		if a.key == key {
			return a
		}
		end = &a.next
	}
	a := &attribute{key: key}
	end.Store(a)
	return a
}

// values returns the values that have been made, in the order of the first use of their keys.
func (s *attributes) values() []any {
	var all []any
	for a := s.first.Load(); a != nil; a = a.next.Load() {
		if a.made.Load() {
			all = append(all, a.value)
		}
	}
	return all
}

// close closes the values, the latest first, and then empties the list. It is called once.
func (s *attributes) close() error {
	defer s.first.Store(nil)
	var errs []error
	for _, value := range slices.Backward(s.values()) {
		if closer, ok := value.(io.Closer); ok {
			errs = append(errs, closer.Close())
		}
	}
	return errors.Join(errs...)
}
