package runtime_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// closer appends an element to order when it is closed. Several closers can share order.
type closer struct{ order *[]int }

func (c closer) Close() error {
	*c.order = append(*c.order, len(*c.order))
	return nil
}

// An attribute is created once per communicator and key, shared by all views, and closed once by
// Comm.Close. A failed creation stores nothing.
func TestAttributes(t *testing.T) {
	type key struct{ n int }
	local(t, 2, func(c *runtime.Comm) {
		dup, err := c.Dup()
		require.NoError(t, err)
		made := 0
		var closed []int
		create := func() (any, error) { made++; return closer{&closed}, nil }
		broken := errors.New("broken")
		_, err = dup.Attribute(key{1}, func() (any, error) { return nil, broken })
		require.ErrorIs(t, err, broken)
		for range 3 {
			for _, view := range []*runtime.Comm{dup, dup.Private(), dup.WithContext(t.Context())} {
				_, err := view.Attribute(key{1}, create)
				require.NoError(t, err)
				_, err = view.Attribute(key{2}, create)
				require.NoError(t, err)
			}
		}
		require.Equal(t, 2, made)
		_, err = c.Attribute(key{1}, func() (any, error) { return "another communicator", nil })
		require.NoError(t, err)
		require.NoError(t, dup.Close())
		require.Equal(t, []int{0, 1}, closed)
	})
}

// If many goroutines ask for an attribute at the same time, exactly one of them creates it.
func TestAttributeIsMadeOnceByManyGoroutines(t *testing.T) {
	local(t, 1, func(c *runtime.Comm) {
		made := 0
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				_, _ = c.Attribute("key", func() (any, error) { made++; return made, nil })
			})
		}
		all.Wait()
		require.Equal(t, 1, made)
	})
}

// onClose is a value whose Close calls it.
type onClose func()

func (f onClose) Close() error {
	f()
	return nil
}

// If a communicator is closed while a value for it is being made, the value is closed, too, and is not returned.
func TestAttributeThatComesLate(t *testing.T) {
	local(t, 1, func(c *runtime.Comm) {
		dup, err := c.Dup()
		require.NoError(t, err)
		making, proceed, ended := make(chan bool), make(chan bool), make(chan error)
		closed := 0
		go func() {
			_, err := dup.Attribute("late", func() (any, error) {
				close(making)
				<-proceed
				return onClose(func() { closed++ }), nil
			})
			ended <- err
		}()
		<-making
		require.NoError(t, dup.Close())
		close(proceed)
		require.ErrorIs(t, <-ended, runtime.ErrCommClosed)
		require.Equal(t, 1, closed)
	})
}
