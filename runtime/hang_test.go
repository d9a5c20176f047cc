package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	testbed "github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/runtime"
)

// hangs are programs of three ranks that deadlock, and that gorun therefore has to end.
var hangs = map[string]func(c *runtime.Comm) error{
	"receives in a circle": func(c *runtime.Comm) error {
		_, err := runtime.Recv(c, make([]int, 1), next(c), 7)
		return err
	},
	"sends in a circle": func(c *runtime.Comm) error {
		return runtime.Send(c, make([]byte, 4<<20), next(c), 7)
	},
	"synchronous sends in a circle": func(c *runtime.Comm) error {
		return runtime.Ssend(c, []int{1}, next(c), 7)
	},
	"probes in a circle": func(c *runtime.Comm) error {
		_, err := runtime.Probe(c, next(c), 7)
		return err
	},
	"a wrong tag": func(c *runtime.Comm) error {
		if err := runtime.Send(c, []int{1}, next(c), 8); err != nil {
			return err
		}
		_, err := runtime.Recv(c, make([]int, 1), (c.Rank()+c.Size()-1)%c.Size(), 7)
		return err
	},
	"any source": func(c *runtime.Comm) error {
		_, err := runtime.Recv(c, make([]int, 1), runtime.AnySource, 7)
		return err
	},
	"several requests": func(c *runtime.Comm) error {
		_, _, err := runtime.WaitAny([]runtime.Request{
			runtime.Irecv(c, make([]int, 1), next(c), 7), runtime.Irecv(c, make([]int, 1), next(c), 8),
		})
		return err
	},
	"nonblocking operations": func(c *runtime.Comm) error {
		_, err := runtime.NewRequest(c, func(c *runtime.Comm) error {
			_, err := runtime.Recv(c, make([]int, 1), next(c), 7)
			return err
		}).Wait()
		return err
	},
	"a rank that has left": func(c *runtime.Comm) error {
		if c.Rank() == 1 {
			return nil
		}
		_, err := runtime.Recv(c, make([]int, 1), 1, 7)
		return err
	},
	"a member that does not split": func(c *runtime.Comm) error {
		if c.Rank() == 1 {
			return nil
		}
		_, err := c.Split(0, 0)
		return err
	},
	"goroutines": func(c *runtime.Comm) error {
		var all sync.WaitGroup
		for tag := range 3 {
			all.Go(func() { _, _ = runtime.Recv(c, make([]int, 1), next(c), tag) })
		}
		all.Wait()
		return nil
	},
	"two of three": func(c *runtime.Comm) error {
		if c.Rank() == 2 {
			select {} // this rank never ends, and is not part of the deadlock
		}
		_, err := runtime.Recv(c, make([]int, 1), 1-c.Rank(), 7)
		return err
	},
}

// next returns the next rank.
func next(c *runtime.Comm) int { return (c.Rank() + 1) % c.Size() }

// envHang names the program of hangs or pauses that a rank runs.
const envHang = "GORUN_TEST_HANG"

func hang(w *runtime.World) error {
	if fn := hangs[os.Getenv(envHang)]; fn != nil {
		return fn(w.Comm())
	}
	return pauses[os.Getenv(envHang)](w.Comm())
}

// A deadlock ends the job with exit code 86. The report is printed once, and says which ranks wait,
// where, and for what.
func TestDeadlockEndsTheJob(t *testing.T) {
	for run, r := range runAll(t, slices.Sorted(maps.Keys(hangs))) {
		t.Run(run.name+", "+run.transport, func(t *testing.T) {
			require.Equal(t, 86, r.code, r.errors)
			require.Regexp(t, `(?m)^gorun: deadlock: ranks? .*waits? at hang_test\.go:\d+ for `, r.errors)
			require.Contains(t, r.errors, "what the ranks are doing:")
			require.Equal(t, 1, strings.Count(r.errors, "deadlock: "), "once: %s", r.errors)
			require.Contains(t, r.errors, "gorun: the job failed with exit code 86: the deadlock above\n")
			if strings.Contains(run.name, "left") || strings.Contains(run.name, "split") {
				require.Equal(t, 1, strings.Count(r.errors, "rank 1 has left its program"), "once: %s", r.errors)
			}
			if run.name == "two of three" {
				require.Contains(t, r.errors, "deadlock: ranks 0-1 wait")
			}
		})
	}
}

// hangRun is a program of hangs or pauses together with a transport.
type hangRun struct{ name, transport string }

// runAll runs programs concurrently, because they mostly wait. Every program runs over shared memory.
// Every fourth program also runs over the network; with GORUN_SOAK=1, all programs do.
func runAll(t *testing.T, names []string) map[hangRun]result {
	t.Helper()
	var mu sync.Mutex
	results := map[hangRun]result{}
	var all sync.WaitGroup
	start := func(run hangRun) {
		all.Go(func() {
			r := launch(t, 3, "hang", "-transport", run.transport, "-x", envHang+"="+run.name)
			mu.Lock()
			defer mu.Unlock()
			results[run] = r
		})
	}
	for i, name := range names {
		start(hangRun{name, "auto"})
		if i%4 == 0 || os.Getenv("GORUN_SOAK") == "1" {
			start(hangRun{name, "rdma"})
		}
	}
	all.Wait()
	return results
}

// pauseTime is longer than the time after which a rank reports that it waits.
const pauseTime = 2500 * time.Millisecond

// pauses are programs that continue after a while, and are therefore no deadlocks. In most of them
// the other ranks wait for rank 0.
var pauses = map[string]func(c *runtime.Comm) error{
	"computes": pause(func(*runtime.Comm) {
		for begin := time.Now(); time.Since(begin) < pauseTime; {
		}
	}),
	"sleeps": pause(func(*runtime.Comm) { time.Sleep(pauseTime) }),
	"waits for a lock": pause(func(*runtime.Comm) {
		var mu sync.Mutex
		mu.Lock()
		time.AfterFunc(pauseTime, mu.Unlock)
		mu.Lock()
	}),
	"waits for a channel": pause(func(*runtime.Comm) { <-time.After(pauseTime) }),
	"reads a pipe": pause(func(*runtime.Comm) {
		r, w, err := os.Pipe()
		if err != nil {
			panic(err)
		}
		time.AfterFunc(pauseTime, func() { _ = w.Close() })
		_, _ = r.Read(make([]byte, 1))
	}),
	"is in a system call": pause(func(*runtime.Comm) {
		_, _ = syscall.Select(0, nil, nil, nil, &syscall.Timeval{Sec: 2, Usec: 500_000})
	}),
	"sleeps beside a goroutine that waits": func(c *runtime.Comm) error {
		switch c.Rank() {
		case 0:
			answer := runtime.NewRequest(c, func(c *runtime.Comm) error {
				_, err := runtime.Recv(c, make([]int, 1), 1, 9)
				return err
			})
			time.Sleep(pauseTime)
			if err := runtime.Send(c, []int{1}, 1, 7); err != nil {
				return err
			}
			_, err := answer.Wait()
			return err
		case 1:
			if _, err := runtime.Recv(c, make([]int, 1), 0, 7); err != nil {
				return err
			}
			return runtime.Send(c, []int{1}, 0, 9)
		}
		return nil
	},
	"does short nonblocking operations beside a goroutine that waits": func(c *runtime.Comm) error {
		switch c.Rank() {
		case 0:
			answer := make(chan error, 1)
			go func() {
				_, err := runtime.Recv(c, make([]int, 1), 1, 9)
				answer <- err
			}()
			for begin := time.Now(); time.Since(begin) < 2*pauseTime; {
				if _, err := runtime.NewRequest(c, func(*runtime.Comm) error { return nil }).Wait(); err != nil {
					return err
				}
			}
			if err := runtime.Send(c, []int{1}, 1, 7); err != nil {
				return err
			}
			return <-answer
		case 1:
			if _, err := runtime.Recv(c, make([]int, 1), 0, 7); err != nil {
				return err
			}
			return runtime.Send(c, []int{1}, 0, 9)
		}
		return nil
	},
	"sends from a timer while it waits": func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			time.AfterFunc(pauseTime, func() {
				for rank := 1; rank < c.Size(); rank++ {
					_ = runtime.Send(c, []int{1}, rank, 7)
				}
			})
			_, err := runtime.Recv(c, make([]int, 1), 1, 8)
			return err
		}
		if _, err := runtime.Recv(c, make([]int, 1), 0, 7); err != nil {
			return err
		}
		if c.Rank() == 1 {
			return runtime.Send(c, []int{1}, 0, 8)
		}
		return nil
	},
	"waits with a context": func(c *runtime.Comm) error {
		ctx, cancel := context.WithTimeout(context.Background(), pauseTime)
		defer cancel()
		_, err := runtime.Recv(c.WithContext(ctx), make([]int, 1), next(c), 7)
		if !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("want the context's end: %w", err)
		}
		return nil
	},
	"has left before its request ends": func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			runtime.NewRequest(c, func(c *runtime.Comm) error {
				time.Sleep(pauseTime)
				return runtime.Send(c, []int{1}, 1, 7)
			})
			return nil
		}
		if c.Rank() == 1 {
			_, err := runtime.Recv(c, make([]int, 1), 0, 7)
			return err
		}
		return nil
	},
	"waits for a signal": pause(func(*runtime.Comm) {
		ch := make(chan os.Signal, 1)
		signal.Notify(ch, syscall.SIGUSR1)
		time.AfterFunc(pauseTime, func() { _ = syscall.Kill(os.Getpid(), syscall.SIGUSR1) })
		<-ch
	}),
}

// pause returns a program in which rank 0 runs fn before it sends to the other ranks, which wait
// for it.
func pause(fn func(c *runtime.Comm)) func(c *runtime.Comm) error {
	return func(c *runtime.Comm) error {
		if c.Rank() != 0 {
			_, err := runtime.Recv(c, make([]int, 1), 0, 7)
			return err
		}
		fn(c)
		for rank := 1; rank < c.Size(); rank++ {
			if err := runtime.Send(c, []int{1}, rank, 7); err != nil {
				return err
			}
		}
		return nil
	}
}

// If a rank of a job does something other than wait for other ranks, the job is not reported as a
// deadlock.
func TestPausesAreNoDeadlocks(t *testing.T) {
	for run, r := range runAll(t, slices.Sorted(maps.Keys(pauses))) {
		t.Run(run.name+", "+run.transport, func(t *testing.T) {
			require.Zero(t, r.code, r.errors)
			require.Empty(t, r.errors)
		})
	}
}

// If no message has moved for the time of -stall, the report is printed once, and the job
// continues. With -stall off, nothing is reported.
func TestStallIsReportedOnce(t *testing.T) {
	t.Parallel()
	r := launch(t, 3, "hang", "-stall", "500ms", "-x", envHang+"=sleeps")
	require.Zero(t, r.code, r.errors)
	require.Equal(t, 1, strings.Count(r.errors, "nothing has moved for 500ms: ranks 1-2 wait at hang_test.go:"), r.errors)
	// The report contains "look there" only if the rank has made no call for 2 s.
	require.Regexp(t, `for rank 0; rank 0 (has not called gorun for .* and is at hang_test\.go:\d+ \(.*\): look there|runs, at hang_test\.go:\d+ \(.*\))`, r.errors)
	r = launch(t, 3, "hang", "-stall", "off", "-x", envHang+"=sleeps")
	require.Zero(t, r.code, r.errors)
	require.Empty(t, r.errors)
}

// With -on-deadlock report, the deadlock is reported once, and the job runs until a signal ends it. With -on-deadlock
// ignore, no deadlock is reported, and the job runs until its timeout.
func TestDeadlockAsTheUserWants(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), testbed.Gorun(t), "-np", "3", "-on-deadlock", "report", "-x", envProgram+"=hang", "-x", envHang+"=any source", self)
	pipe, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	text := readUntil(t, cmd, pipe, "receive, any source")
	require.Equal(t, 1, strings.Count(text, "deadlock: ranks 0-2 wait"), text)

	r := launch(t, 3, "hang", "-on-deadlock", "ignore", "-timeout", "3s", "-x", envHang+"=any source")
	require.Equal(t, 124, r.code, r.errors)
	require.NotContains(t, r.errors, "deadlock")
}
