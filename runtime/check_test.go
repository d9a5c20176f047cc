package runtime_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// mistakes are programs of two ranks. want is a regular expression for the findings of the check,
// or "" if there are none.
var mistakes = map[string]struct {
	program func(c *runtime.Comm) error
	want    string
}{
	"none": {func(c *runtime.Comm) error {
		dup, err := c.Dup()
		if err != nil {
			return err
		}
		in, out := make([]int, 1), []int{c.Rank()}
		requests := []runtime.Request{runtime.Irecv(dup, in, 1-c.Rank(), 7), runtime.Isend(dup, out, 1-c.Rank(), 7)}
		if err := runtime.WaitAll(requests); err != nil {
			return err
		}
		b, err := runtime.Alloc[int](c.World(), 1)
		if err != nil {
			return err
		}
		if err := runtime.SendBuffer[int](dup, b, 1-c.Rank(), 8); err != nil {
			return err
		}
		m, err := runtime.RecvMessage(dup, 1-c.Rank(), 8)
		if err != nil {
			return err
		}
		m.Close()
		p := runtime.SendInit(dup, out, 1-c.Rank(), 9)
		if err := p.Start(); err != nil {
			return err
		}
		if _, err := runtime.Recv(dup, in, 1-c.Rank(), 9); err != nil {
			return err
		}
		if _, err := p.Wait(); err != nil {
			return err
		}
		p.Close()
		return dup.Close()
	}, ""},
	"a request without a wait": {func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			runtime.Isend(c, []int{1}, 1, 7)
			return nil
		}
		_, err := runtime.Recv(c, make([]int, 1), 0, 7)
		return err
	}, `nobody waited for Isend at check_test\.go:\d+`},
	"a buffer that is changed": {func(c *runtime.Comm) error {
		if c.Rank() == 1 {
			_, err := runtime.Recv(c, make([]int, 1), 0, 7)
			return err
		}
		out := []int{1}
		r := runtime.Isend(c, out, 1, 7)
		out[0] = 2
		_, err := r.Wait()
		return err
	}, `the memory of Isend at check_test\.go:\d+ was changed before the request had ended`},
	"two receives into one buffer": {func(c *runtime.Comm) error {
		if c.Rank() == 1 {
			return errors.Join(runtime.Send(c, []int{1, 2}, 0, 7), runtime.Send(c, []int{3, 4}, 0, 8))
		}
		in := make([]int, 3)
		return runtime.WaitAll([]runtime.Request{runtime.Irecv(c, in[:2], 1, 7), runtime.Irecv(c, in[1:], 1, 8)})
	}, `the memory of Irecv at check_test\.go:\d+ overlaps that of Irecv at check_test\.go:\d+, which has not ended`},
	"two sends of one buffer": {func(c *runtime.Comm) error {
		in, out := make([]int, 2), []int{1, 2}
		if c.Rank() == 1 {
			return runtime.WaitAll([]runtime.Request{runtime.Irecv(c, in[:1], 0, 7), runtime.Irecv(c, in[1:], 0, 8)})
		}
		return runtime.WaitAll([]runtime.Request{runtime.Isend(c, out[:1], 1, 7), runtime.Isend(c, out[:1], 1, 8)})
	}, ""},
	"a communicator that stays open": {func(c *runtime.Comm) error {
		for range 3 {
			if _, err := c.Split(0, 0); err != nil {
				return err
			}
		}
		return nil
	}, `nobody closed the communicator world\.split\(0\) made at check_test\.go:\d+ \(3 times\)`},
	"a Buffer that stays open": {func(c *runtime.Comm) error {
		_, err := runtime.Alloc[int](c.World(), 7)
		return err
	}, `nobody closed the Buffer allocated at check_test\.go:\d+`},
	"a Message that stays open": {func(c *runtime.Comm) error {
		if c.Rank() == 1 {
			return runtime.Send(c, []int{1}, 0, 7)
		}
		_, err := runtime.RecvMessage(c, 1, 7)
		return err
	}, `nobody closed the Message received at check_test\.go:\d+`},
	"a Persistent that stays open": {func(c *runtime.Comm) error {
		runtime.RecvInit(c, make([]int, 1), 1, 7)
		return nil
	}, `nobody closed the persistent operation made at check_test\.go:\d+`},
	"a function in the background": {func(c *runtime.Comm) error {
		runtime.NewRequest(c, func(*runtime.Comm) error { return nil })
		return nil
	}, `nobody waited for the nonblocking operation at check_test\.go:\d+`},
	"a request that is complete at once": {func(c *runtime.Comm) error {
		if c.Rank() == 1 {
			r := runtime.Irecv(c, make([]int, 1), 0, 7)
			if err := runtime.Send(c, []int{1}, 0, 8); err != nil {
				return err
			}
			_, err := r.Wait()
			return err
		}
		if _, err := runtime.Recv(c, make([]int, 1), 1, 8); err != nil {
			return err
		}
		runtime.Isend(c, []int{1}, 1, 7)
		return nil
	}, `nobody waited for Isend at check_test\.go:\d+`},
	"a request that was refused": {func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			runtime.Isend(c, []int{1}, 2, 7)
			runtime.Irecv(c, make([]int, 1), 2, 7)
		}
		return nil
	}, `nobody waited for Irecv at check_test\.go:\d+\nnobody waited for Isend at check_test\.go:\d+`},
	"a Recv into the memory of a send": {func(c *runtime.Comm) error {
		out, in := []int{1}, make([]int, 1)
		if c.Rank() == 0 {
			in = out
		}
		r := runtime.Isend(c, out, 1-c.Rank(), 7)
		if _, err := runtime.Recv(c, in, 1-c.Rank(), 7); err != nil {
			return err
		}
		_, err := r.Wait()
		return err
	}, `the memory of Recv at check_test\.go:\d+ overlaps that of Isend at check_test\.go:\d+, which has not ended`},
	"a SendRecv of the memory of a receive": {func(c *runtime.Comm) error {
		b, in := make([]int, 1), make([]int, 1)
		r := runtime.Irecv(c, in, 1-c.Rank(), 8)
		if c.Rank() == 0 {
			b = in
		}
		if _, err := runtime.SendRecv(c, b, 1-c.Rank(), 7, make([]int, 1), 1-c.Rank(), 7); err != nil {
			return err
		}
		if err := runtime.Send(c, make([]int, 1), 1-c.Rank(), 8); err != nil {
			return err
		}
		_, err := r.Wait()
		return err
	}, `the memory of SendRecv at check_test\.go:\d+ overlaps that of Irecv at check_test\.go:\d+, which has not ended`},
	"a receive of a probed message without a wait": {func(c *runtime.Comm) error {
		if c.Rank() == 1 {
			return runtime.Send(c, []int{1}, 0, 7)
		}
		m, err := runtime.Mprobe(c, 1, 7)
		if err != nil {
			return err
		}
		runtime.IrecvMatched(m, make([]int, 1))
		return nil
	}, `nobody waited for IrecvMatched at check_test\.go:\d+`},
	"a probed message that nobody receives": {func(c *runtime.Comm) error {
		b, err := runtime.Alloc[int](c.World(), 1)
		if err != nil {
			return err
		}
		if c.Rank() == 1 {
			return runtime.SendBuffer[int](c, b, 0, 7)
		}
		b.Close()
		_, err = runtime.Mprobe(c, 1, 7)
		return err
	}, `nobody received the message probed at check_test\.go:\d+`},
	"a Shared that stays open": {func(c *runtime.Comm) error {
		s, err := runtime.NewShared(c, 64)
		if err != nil || c.Rank() == 0 {
			return err
		}
		return s.Close()
	}, `nobody closed the shared memory made at check_test\.go:\d+`},
	"a message that nobody receives": {func(c *runtime.Comm) error {
		if c.Rank() == 1 {
			b, err := runtime.Alloc[int](c.World(), 1)
			if err != nil {
				return err
			}
			return runtime.SendBuffer[int](c, b, 0, 7)
		}
		return nil
	}, `not received: 8 bytes from rank 1, tag 7, world`},
}

// With GORUN_CHECK=1 each mistake is reported, and a correct program has no findings. Each report
// has a source line, except that of a message that no rank has received.
func TestCheckFindsMistakes(t *testing.T) {
	t.Setenv("GORUN_CHECK", "1")
	for name, c := range mistakes {
		t.Run(name, func(t *testing.T) {
			err := runtime.Local(2, func(w *runtime.World) error { return c.program(w.Comm()) })
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, runtime.ErrCheck)
			var found *runtime.CheckError
			require.ErrorAs(t, err, &found)
			require.Regexp(t, "^"+c.want+"$", strings.Join(found.Findings, "\n"))
		})
	}
}

// GORUN_CHECK accepts several spellings of true and false. For each variable that switches something on or off,
// another value is an error, even if the rank does not use the variable.
func TestVariablesAreTrueOrFalse(t *testing.T) {
	mistake := func(w *runtime.World) error {
		_, err := w.Comm().Dup() // is not closed
		return err
	}
	for text, on := range map[string]bool{"true": true, "T": true, "false": false, "0": false} {
		t.Setenv("GORUN_CHECK", text)
		err := runtime.Local(2, mistake)
		require.Equal(t, on, errors.Is(err, runtime.ErrCheck), "%s: %v", text, err)
	}
	t.Setenv("GORUN_CHECK", "")
	for _, name := range []string{"CMA", "CRC", "COMPRESS", "RDMA_LIBRARY", "DEBUG", "CHECK", "EXPLAIN"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GORUN_"+name, "yes")
			err := runtime.Local(1, func(*runtime.World) error { return nil })
			require.ErrorContains(t, err, "GORUN_"+name+"=yes is neither true nor false: want 1 or true, 0 or false")
		})
	}
}

// Without the check the same programs succeed.
func TestMistakesWithoutACheck(t *testing.T) {
	for name, c := range mistakes {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, runtime.Local(2, func(w *runtime.World) error { return c.program(w.Comm()) }))
		})
	}
}

// With GORUN_CHECK=1 sends wait for their receives. So a program that relies on the runtime to
// store messages deadlocks. Here the end of a context.Context ends the deadlock.
func TestCheckFindsSendsThatNeedMemory(t *testing.T) {
	type padded struct {
		A int8
		B int64
	}
	for name, program := range map[string]func(w *runtime.World) error{
		"numbers":    exchangeSendFirst[int],
		"structures": exchangeSendFirst[padded],
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, runtime.Local(2, program))
			t.Setenv("GORUN_CHECK", "1")
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			require.ErrorIs(t, runtime.LocalContext(ctx, 2, program), context.DeadlineExceeded)
		})
	}
}

// exchangeSendFirst is a wrong exchange: both ranks send before they receive.
func exchangeSendFirst[T any](w *runtime.World) error {
	c := w.Comm()
	if err := runtime.Send(c, make([]T, 1), 1-c.Rank(), 7); err != nil {
		return err
	}
	_, err := runtime.Recv(c, make([]T, 1), 1-c.Rank(), 7)
	return err
}

// With GORUN_CHECK=1, messages with and without strides on the same communicator end without errors and without
// findings.
func TestCheckBesideStrides(t *testing.T) {
	t.Setenv("GORUN_CHECK", "1")
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		for range 10 {
			if c.Rank() == 1 {
				if _, err := runtime.Irecv(c, make([]int, 1), 0, 7).Wait(); err != nil {
					return err
				}
				if _, err := runtime.RecvStrided(c, make([]int, 9), runtime.Strided{Count: 3, Block: 1, Stride: 3}, 0, 8); err != nil {
					return err
				}
				continue
			}
			if _, err := runtime.Isend(c, []int{1}, 1, 7).Wait(); err != nil {
				return err
			}
			if err := runtime.SendStrided(c, make([]int, 9), runtime.Strided{Count: 3, Block: 1, Stride: 3}, 1, 8); err != nil {
				return err
			}
		}
		return nil
	}))
}
