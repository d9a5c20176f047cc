package runtime_test

import (
	"context"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// goroutine returns the first line of the stack of the calling goroutine, which has its number.
func goroutine() string {
	text := make([]byte, 64)
	line, _, _ := strings.Cut(string(text[:goruntime.Stack(text, false)]), "[")
	return line
}

// Wait runs the function of a NewRequestUsing itself if no other goroutine has begun it. The function of a NewRequest
// always has a goroutine of its own, which it may end.
func TestWaitRunsTheFunction(t *testing.T) {
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(1))
	const tries = 50 // in some of them, Go's scheduler preempts the goroutine before Wait
	local(t, 1, func(c *runtime.Comm) {
		here, there := 0, 0
		for range tries {
			var by string
			count := func(*runtime.Comm) error {
				by = goroutine()
				return nil
			}
			_, err := runtime.NewRequestUsing(c, nil, nil, count).Wait()
			require.NoError(t, err)
			if by == goroutine() {
				here++
			}
			_, err = runtime.NewRequest(c, count).Wait()
			require.NoError(t, err)
			if by != goroutine() {
				there++
			}
		}
		require.Greater(t, here, tries/2)
		require.Equal(t, tries, there)
	})
}

// Cancel ends the context.Context of a function that Wait runs.
func TestCancelOfAFunctionInWait(t *testing.T) {
	local(t, 1, func(c *runtime.Comm) {
		begun := make(chan struct{})
		r := runtime.NewRequestUsing(c, nil, nil, func(c *runtime.Comm) error {
			close(begun)
			_, err := runtime.Recv(c, make([]int, 1), 0, 1)
			return err
		})
		go func() {
			<-begun
			r.Cancel()
		}()
		require.ErrorIs(t, second(r.Wait()), context.Canceled)
	})
}
