package collectives_test

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// If a rank calls Close while another goroutine of the rank is in an operation, this operation and all
// later operations of the rank end with ErrCommClosed. The operations of the other members would wait
// for the rank; they end with ErrCommBroken.
func TestCloseBesideAnOperation(t *testing.T) {
	for _, distant := range []bool{false, true} {
		world(t, 2, func(w *runtime.Comm) error {
			c, err := dup(w, distant)
			if err != nil {
				return err
			}
			if err := collectives.Barrier(c); err != nil {
				return err
			}
			var closed atomic.Bool
			if c.Rank() == 0 {
				go func() {
					for collectives.Doing(c) == "" {
						goruntime.Gosched()
					}
					closed.Store(true)
					_ = c.Close()
				}()
				err = collectives.AllReduce(c, make([]int, 3), make([]int, 3), collectives.Sum)
				if !errors.Is(err, runtime.ErrCommClosed) || !closed.Load() {
					return fmt.Errorf("allreduce of a communicator that is closed: %w", err)
				}
				err = collectives.Barrier(c)
				if !errors.Is(err, runtime.ErrCommClosed) {
					return fmt.Errorf("barrier of a communicator that was closed: %w", err)
				}
			}
			if err := collectives.Barrier(w); err != nil || c.Rank() == 0 {
				return err
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for range 2 { // the first call may succeed: it uses the contribution that rank 0 sent before the Close
				if err = collectives.AllReduce(c.WithContext(ctx), make([]int, 3), make([]int, 3), collectives.Sum); err != nil {
					break
				}
			}
			if !errors.Is(err, runtime.ErrCommBroken) {
				return fmt.Errorf("allreduce of a communicator that another member has closed: %w", err)
			}
			return c.Close()
		})
	}
}

// GORUN_REPRODUCIBLE is read as a boolean: true selects the algorithm that reduces in rank order,
// and a value that is no boolean is an error.
func TestReproducibleIsABoolean(t *testing.T) {
	for text, want := range map[string]string{"true": "in-order", "T": "in-order", "1": "in-order", "0": "binomial", "false": "binomial", "": "binomial", "yes": ""} {
		t.Setenv("GORUN_REPRODUCIBLE", text)
		world(t, 2, func(c *runtime.Comm) error {
			got, err := collectives.Choice(c, "reduce", 8)
			if want == "" {
				require.ErrorIs(t, err, runtime.ErrArgument)
				require.ErrorContains(t, err, "GORUN_REPRODUCIBLE=yes")
				return nil
			}
			err = errors.Join(err, collectives.Distant(c))
			if err == nil {
				got, err = collectives.Choice(c, "reduce", 8)
			}
			require.Equal(t, want, got, text)
			return err
		})
	}
}
