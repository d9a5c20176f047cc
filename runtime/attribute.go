package runtime

import (
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
)

// Attribute returns the value that belongs to key in this communicator, and
// makes it with create when there is none yet. Views and the Private twin share
// the attributes. Goroutines that ask for one key at the same time wait for the
// first one's create; when it fails nothing is kept. Values that are io.Closers
// are closed by Free, the latest first; those of World.Comm that are Explainers have
// their say at its end. Keys are compared like those of maps: use
// a type of your own.
func (c *Comm) Attribute(key any, create func() (any, error)) (any, error) {
	if err := c.Err(); err != nil {
		return nil, err
	}
	return c.core.attributes.get(key, create)
}

// attributes is the cache behind Comm.Attribute. Lookups scan a short list that
// is never changed, only replaced.
type attributes struct {
	list atomic.Pointer[[]*attribute]
	// mu guards replacing the list. It is not held while a value is made.
	mu sync.Mutex
}

// attribute is one key with its value.
type attribute struct {
	key any
	// value is set once made is true, and constant from then on.
	value any
	made  atomic.Bool
	// mu is held while the value is made.
	mu sync.Mutex
}

// get returns the value of key and makes it if need be.
func (s *attributes) get(key any, create func() (any, error)) (any, error) {
	a := s.find(key)
	if a.made.Load() {
		return a.value, nil
	}
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

// find returns the entry of key, a new one if there is none.
func (s *attributes) find(key any) *attribute {
	if a := scan(s.list.Load(), key); a != nil {
		return a
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.list.Load()
	if a := scan(old, key); a != nil {
		return a
	}
	a := &attribute{key: key}
	list := []*attribute{a}
	if old != nil {
		list = append(slices.Clone(*old), a)
	}
	s.list.Store(&list)
	return a
}

// values returns those that are made.
func (s *attributes) values() []any {
	list := s.list.Load()
	if list == nil {
		return nil
	}
	var all []any
	for _, a := range *list {
		if a.made.Load() {
			all = append(all, a.value)
		}
	}
	return all
}

// scan looks for key in a list that may be nil.
func scan(list *[]*attribute, key any) *attribute {
	if list == nil {
		return nil
	}
	for _, a := range *list {
		if a.key == key {
			return a
		}
	}
	return nil
}

// close closes the values, the latest first, and then forgets them. It is called once.
func (s *attributes) close() error {
	list := s.list.Load()
	if list == nil {
		return nil
	}
	defer s.list.Store(nil)
	var errs []error
	for _, a := range slices.Backward(*list) {
		if closer, ok := a.value.(io.Closer); ok && a.made.Load() {
			errs = append(errs, closer.Close())
		}
	}
	return errors.Join(errs...)
}
