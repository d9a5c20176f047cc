package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	goruntime "runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// lineHere returns the source line of its caller.
func lineHere() string {
	_, _, line, _ := goruntime.Caller(1)
	return fmt.Sprintf("line_test.go:%d", line)
}

// TestErrorsNameTheLineOfTheCall: the error of each call in the table contains the source line of the call, or of
// the Wait that returns it.
func TestErrorsNameTheLineOfTheCall(t *testing.T) {
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		c, one := w.Comm(), []int{1}
		if c.Rank() == 1 {
			return runtime.Send(c, []int{1, 2}, 0, 3)
		}
		own, err := runtime.Alloc[int](w, 4)
		if err != nil {
			return err
		}
		own.Close()
		for name, call := range map[string]func() (string, error){
			"send":            func() (string, error) { return lineHere(), runtime.Send(c, one, 9, 1) },
			"tag":             func() (string, error) { return lineHere(), runtime.Send(c, one, 1, -5) },
			"no communicator": func() (string, error) { return lineHere(), runtime.Send(nil, one, 1, 1) },
			"elements":        func() (string, error) { return lineHere(), runtime.Send(c, []string{""}, 1, 1) },
			"isend":           func() (string, error) { at, r := lineHere(), runtime.Isend(c, one, 9, 1); return at, second(r.Wait()) },
			"recv":            func() (string, error) { return lineHere(), second(runtime.Recv(c, one, 9, 1)) },
			"recv tag":        func() (string, error) { return lineHere(), second(runtime.Recv(c, one, 1, -5)) },
			"elements in":     func() (string, error) { return lineHere(), second(runtime.Recv(c, []*int{nil}, 1, 1)) },
			"truncated":       func() (string, error) { return lineHere(), second(runtime.Recv(c, one, 1, 3)) },
			"irecv":           func() (string, error) { at, r := lineHere(), runtime.Irecv(c, one, 9, 1); return at, second(r.Wait()) },
			"canceled":        func() (string, error) { return canceled(c) },
			"exchange":        func() (string, error) { return lineHere(), second(runtime.SendRecv(c, one, 9, 1, []int{1}, 1, 1)) },
			"alias":           func() (string, error) { return lineHere(), second(runtime.SendRecv(c, one, 0, 1, one, 0, 1)) },
			"probe":           func() (string, error) { return lineHere(), second(runtime.Probe(c, 9, 1)) },
			"matched":         func() (string, error) { return lineHere(), second(runtime.RecvMatched(nil, one)) },
			"message":         func() (string, error) { return lineHere(), second(runtime.RecvMessage(c, 9, 1)) },
			"alloc":           func() (string, error) { return lineHere(), second(runtime.Alloc[int](w, -1)) },
			"buffer":          func() (string, error) { return lineHere(), runtime.SendBuffer[int](c, own, 1, 1) },
			"create":          func() (string, error) { return lineHere(), second(c.Create(runtime.Group{}, math.MaxInt)) },
			"close":           func() (string, error) { return lineHere(), c.Close() },
			"group":           func() (string, error) { return lineHere(), second(c.Group().Include(9)) },
			"strided": func() (string, error) {
				return lineHere(), runtime.SendStrided(c, one, runtime.Strided{Count: -1}, 1, 1)
			},
			"stream": func() (string, error) { return streamed(c) },
			"goroutine": func() (string, error) {
				done := make(chan error)
				go func() { done <- runtime.Send(c, one, 9, 1) }()
				return "line_test.go:", <-done
			},
		} {
			at, err := call()
			var where *runtime.CallError
			if !errors.As(err, &where) {
				return fmt.Errorf("%s: no line in %w", name, err)
			}
			require.Contains(t, where.Line(), at, name)
			require.Regexp(t, `^at line_test\.go:\d+: `, err.Error(), name)
		}
		return nil
	}))
}

// streamed receives a stream that ends with an error. The error must contain the line of the loop.
func streamed(c *runtime.Comm) (string, error) {
	ended, end := context.WithCancel(context.Background())
	end()
	at := lineHere()
	for _, err := range runtime.Stream[int](c.WithContext(ended), 1, 99) {
		_, line, _ := strings.Cut(at, ":")
		n, _ := strconv.Atoi(line)
		return fmt.Sprintf("line_test.go:%d", n+1), err
	}
	return at, nil
}

// canceled cancels a receive in flight. The error of the receive must contain the line of Wait.
func canceled(c *runtime.Comm) (string, error) {
	r := runtime.Irecv(c, make([]int, 1), 1, 99)
	r.Cancel()
	return lineHere(), second(r.Wait())
}
