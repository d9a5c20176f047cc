package collectives_test

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// If an operation is refused because of its arguments, the error names the source line of the call,
// or of the start of a nonblocking operation.
func TestArgumentErrorsNameTheLine(t *testing.T) {
	here := func() string {
		_, _, line, _ := goruntime.Caller(1)
		return fmt.Sprintf("line_test.go:%d", line)
	}
	world(t, 2, func(c *runtime.Comm) error {
		one, three := make([]int, 1), make([]int, 3)
		started := func() (string, error) {
			at, r := here(), collectives.IBcast(c, one, 9)
			_, err := r.Wait()
			return at, err
		}
		for name, call := range map[string]func() (string, error){
			"root":            func() (string, error) { return here(), collectives.Bcast(c, one, 9) },
			"length":          func() (string, error) { return here(), collectives.AllGather(c, one, three) },
			"no communicator": func() (string, error) { return here(), collectives.Barrier(nil) },
			"started":         started,
		} {
			at, err := call()
			if err == nil {
				return fmt.Errorf("%s: no error", name)
			}
			var where *runtime.CallError
			if !errors.As(err, &where) || where.Line() != at {
				return fmt.Errorf("%s: no line %s in %w", name, at, err)
			}
			require.Contains(t, err.Error(), "at "+at+": collectives: ", name)
		}
		return nil
	})
}

// The error of a nonblocking operation names the line of its start, however many operations were started
// after it.
func TestManyStartedNameTheLine(t *testing.T) {
	const many = 40
	_, _, line, _ := goruntime.Caller(0)
	starts := []func(c *runtime.Comm, x *runtime.Intercomm) runtime.Request{
		func(c *runtime.Comm, _ *runtime.Intercomm) runtime.Request { return collectives.IBarrier(c) },
		func(_ *runtime.Comm, x *runtime.Intercomm) runtime.Request { return collectives.InterIBarrier(x) },
	}
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		c, err := w.Comm().Dup()
		if err != nil {
			return err
		}
		s, err := newSide(t, w, [2]int{1, 1})
		if err != nil || w.Rank() == 1 {
			return err
		}
		ctx, cancel := context.WithCancel(t.Context())
		var requests []runtime.Request
		for i := range 2 * many {
			requests = append(requests, starts[i/many](c.WithContext(ctx), s.WithContext(ctx)))
		}
		cancel()
		for i, r := range requests {
			require.ErrorContains(t, waited(r), fmt.Sprintf("at line_test.go:%d: collectives: ", line+2+i/many))
		}
		return nil
	}))
}

// The text of the error of a nonblocking operation does not depend on the goroutine that has run it.
func TestTextDoesNotDependOnTheGoroutine(t *testing.T) {
	for name, finish := range map[string]func(r runtime.Request){
		"Wait": func(runtime.Request) {}, // usually before another goroutine has begun the operation
		"another goroutine": func(r runtime.Request) {
			for !r.Done() {
				goruntime.Gosched()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			world(t, 2, func(w *runtime.Comm) error {
				c, err := w.Dup()
				if err != nil {
					return err
				}
				var r runtime.Request
				if c.Rank() == 0 {
					r = collectives.IBarrier(c)
				} else {
					r = collectives.IAllReduce(c, []int{1}, []int{1}, collectives.Sum)
				}
				finish(r)
				require.Regexp(t, `^at line_test\.go:\d+: collectives: (barrier|allreduce): `, waited(r))
				return nil
			})
		})
	}
}

// The error of two persistent operations that do not match names the source lines of their starts.
func TestMismatchOfPersistentNamesTheLine(t *testing.T) {
	starts := map[string]func(p *runtime.Persistent) error{
		"start": func(p *runtime.Persistent) error { return p.Start() },
		"all":   func(p *runtime.Persistent) error { return runtime.StartAll([]*runtime.Persistent{p}) },
	}
	for name, start := range starts {
		t.Run(name, func(t *testing.T) {
			world(t, 2, func(w *runtime.Comm) error {
				c, err := w.Dup()
				if err != nil {
					return err
				}
				p := collectives.BarrierInit(c)
				if c.Rank() == 1 {
					p = collectives.AllReduceInit(c, []int{1}, []int{1}, collectives.Sum)
				}
				if err := start(p); err != nil {
					return err
				}
				_, err = p.Wait()
				var differ *collectives.MismatchError
				require.ErrorAs(t, err, &differ)
				require.Contains(t, differ.Line, "line_test.go:")
				require.Contains(t, differ.PeerLine, "line_test.go:")
				return nil
			})
		})
	}
}
