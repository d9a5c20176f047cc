package engine_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	goruntime "runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
)

const (
	pairEnv   = "GORUN_ENGINE_PAIR" // the rank of a child of BenchmarkProcesses
	pairRange = 1 << 30             // the bytes of a rank's memory range
)

func TestMain(m *testing.M) {
	if rank, err := strconv.Atoi(os.Getenv(pairEnv)); err == nil {
		os.Exit(runPair(rank))
	}
	os.Exit(m.Run())
}

// runPair runs one rank of a pair of processes. Both ranks measure, and rank 0 prints the results.
func runPair(rank int) int {
	node, err := shm.OpenNode(3, 2, pairRange)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	tr, err := shm.New(node, shm.Config{Rank: rank, LocalRank: rank})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	e, err := engine.New(engine.Config{
		Rank: rank, Size: 2, Sleeper: tr.Sleeper(),
		Wait:       engine.WaitPolicy{Spin: 50 * time.Microsecond, Yield: 100 * time.Microsecond},
		Route:      func(int) transport.Transport { return tr },
		Transports: []transport.Transport{tr},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	e.Start()
	if os.Getenv("GORUN_ENGINE_PART") == "wait" {
		if err := waitOf(e, rank); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	for _, n := range []int{0, 8, 1024, 8192, 64 << 10, 1 << 20, 4 << 20} {
		if err := latencyOf(e, rank, n); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	if err := rateOf(e, rank); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// windows measures 40 intervals of as many calls of f as rounds says. In rank 0 it prints the minimum and
// the median time of a call, divided by share, in nanoseconds.
func windows(rank, rounds int, what string, share float64, f func() error) error {
	var each []float64
	for range 40 {
		start := time.Now()
		for range rounds {
			if err := f(); err != nil {
				return err
			}
		}
		each = append(each, float64(time.Since(start).Nanoseconds())/float64(rounds)/share)
	}
	slices.Sort(each)
	if rank == 0 {
		fmt.Fprintf(os.Stdout, "%-24s min %8.0f ns  median %8.0f ns\n", what, each[0], each[len(each)/2])
	}
	return nil
}

func latencyOf(e *engine.Engine, rank, n int) error {
	buf := make([]byte, n)
	m := engine.Match{Peer: 1 - rank, Tag: 1}
	return windows(rank, max(10, min(2000, 4<<20/(n+1))), fmt.Sprintf("one way %d B", n), 2, func() error {
		if rank == 0 {
			if err := e.Send(none, m, 0, buf, engine.Standard); err != nil {
				return err
			}
		}
		if _, err := e.Recv(none, m, 0, buf); err != nil {
			return err
		}
		if rank == 1 {
			return e.Send(none, m, 0, buf, engine.Standard)
		}
		return nil
	})
}

func rateOf(e *engine.Engine, rank int) error {
	buf := make([]byte, 8)
	var rs [64]engine.Handle
	m := engine.Match{Peer: 1 - rank, Tag: 1}
	return windows(rank, 500, "message of a window", 64, func() error {
		for i := range rs {
			if rank == 0 {
				rs[i] = e.Isend(m, 0, buf, engine.Standard)
			} else {
				rs[i] = e.Irecv(m, 0, buf)
			}
		}
		if err := errors.Join(e.WaitAll(none, rs[:])...); err != nil {
			return err
		}
		if rank == 0 {
			_, err := e.Recv(none, m, 0, buf)
			return err
		}
		return e.Send(none, m, 0, buf, engine.Standard)
	})
}

// spent returns the processor time of this process.
func spent() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// waitOf measures the cost of waiting. First, rank 0 blocks while rank 1 makes no call. Then rank
// 0 sends 64 MiB to rank 1, which computes.
func waitOf(e *engine.Engine, rank int) error {
	m := engine.Match{Peer: 1 - rank, Tag: 1}
	// pattern touches the memory, so that the measurement excludes the first page faults.
	long := pattern(64<<20, rank)
	if err := e.Send(none, m, 0, nil, engine.Standard); err != nil {
		return err
	}
	if _, err := e.Recv(none, m, 0, nil); err != nil {
		return err
	}
	const pause = 3 * time.Second
	before := spent()
	if rank == 0 {
		if _, err := e.Recv(none, m, 0, nil); err != nil {
			return err
		}
		fmt.Fprintf(os.Stdout, "blocked: %v of %v\n", spent()-before, pause)
		start := time.Now()
		if err := e.Send(none, m, 0, long, engine.Standard); err != nil {
			return err
		}
		fmt.Fprintf(os.Stdout, "64 MiB to a rank that computes: %v\n", time.Since(start))
		return nil
	}
	// The processor time of both ranks during this pause is measured.
	time.Sleep(pause)
	fmt.Fprintf(os.Stdout, "without a call: %v of %v\n", spent()-before, pause)
	r := e.Irecv(m, 0, long)
	if err := e.Send(none, m, 0, nil, engine.Standard); err != nil {
		return err
	}
	for start := time.Now(); time.Since(start) < 200*time.Millisecond; {
		work++ // stands for a computation
	}
	_, err := r.Wait(none)
	return err
}

// work is the result of the computation.
var work int

// BenchmarkWaiting prints the cost of waiting.
func BenchmarkWaiting(b *testing.B) { runProcesses(b, "GORUN_ENGINE_PART=wait") }

// BenchmarkProcesses measures two processes over shared memory, each on a core of its own.
func BenchmarkProcesses(b *testing.B) { runProcesses(b) }

// runProcesses runs a pair of processes.
func runProcesses(b *testing.B, env ...string) {
	b.Helper()
	fd, err := unix.MemfdCreate("engine", 0)
	require.NoError(b, err)
	memory := os.NewFile(uintptr(fd), "memory")
	defer memory.Close()
	require.NoError(b, memory.Truncate(2*pairRange))
	goruntime.LockOSThread() // children inherit this thread's processors
	var all unix.CPUSet
	require.NoError(b, unix.SchedGetaffinity(0, &all))
	defer func() { _ = unix.SchedSetaffinity(0, &all) }()
	var ranks []*exec.Cmd
	for rank := range 2 {
		var one unix.CPUSet
		one.Set(rank)
		require.NoError(b, unix.SchedSetaffinity(0, &one))
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), fmt.Sprintf("%s=%d", pairEnv, rank), "GOMAXPROCS=1")
		c.Env = append(c.Env, env...)
		c.ExtraFiles = []*os.File{memory}
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		require.NoError(b, c.Start())
		ranks = append(ranks, c)
	}
	for _, c := range ranks {
		require.NoError(b, c.Wait())
	}
}
