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
	// over is set before close closes the values.
	over atomic.Bool
}

// attribute is the entry of one key.
type attribute struct {
	key  any
	next atomic.Pointer[attribute]
	// value is valid if made is true. It does not change afterwards.
	value any
	made  atomic.Bool
	// closed is true once close has begun to close the value.
	closed atomic.Bool
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
	a := s.entry(key)
	value, err := a.make(create)
	if err == nil && s.over.Load() { // close may have missed the value
		return nil, errors.Join(ErrCommClosed, a.close())
	}
	return value, err
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

// close closes the value if it is an io.Closer that was not closed before.
func (a *attribute) close() error {
	if closer, ok := a.value.(io.Closer); ok && !a.closed.Swap(true) {
		return closer.Close()
	}
	return nil
}

// values returns the values that have been made, in the order of the first use of their keys.
func (s *attributes) values() []any {
	made := s.all()
	all := make([]any, len(made))
	for i, a := range made {
		all[i] = a.value
	}
	return all
}

// all returns the entries whose values have been made, in the order of the first use of their keys.
func (s *attributes) all() []*attribute {
	var all []*attribute
	for a := s.first.Load(); a != nil; a = a.next.Load() {
		if a.made.Load() {
			all = append(all, a)
		}
	}
	return all
}

// close closes the values, in the reverse order of the first use of their keys, and then empties the list. A second
// call, by Comm.Close after World.Resume has left the World, closes no value again.
func (s *attributes) close() error {
	s.over.Store(true)
	defer s.first.Store(nil)
	var errs []error
	for _, a := range slices.Backward(s.all()) {
		errs = append(errs, a.close())
	}
	return errors.Join(errs...)
}
