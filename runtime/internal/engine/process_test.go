package engine_test

import (
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
	pairEnv   = "GORUN_ENGINE_PAIR" // rank of a child of BenchmarkProcesses
	pairRange = 1 << 30             // bytes of a rank's range
)

func TestMain(m *testing.M) {
	if rank, err := strconv.Atoi(os.Getenv(pairEnv)); err == nil {
		os.Exit(runPair(rank))
	}
	os.Exit(m.Run())
}

// runPair is one rank of a pair of processes: it measures and rank 0 prints.
func runPair(rank int) int {
	node, err := shm.OpenNode(3, 2, pairRange)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	tr, err := shm.New(node, shm.Config{Rank: rank, LocalRank: rank})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	e, err := engine.New(engine.Config{
		Rank: rank, Size: 2, Sleeper: tr.Sleeper(),
		Wait:       engine.WaitPolicy{Spin: 50 * time.Microsecond, Yield: 100 * time.Microsecond},
		Route:      func(int) transport.Transport { return tr },
		Transports: []transport.Transport{tr},
	})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	e.Start()
	for _, n := range []int{0, 8, 1024, 8192, 64 << 10, 1 << 20, 4 << 20} {
		if err := latencyOf(e, rank, n); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	if err := rateOf(e, rank); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// windows runs f in short windows and prints the least and the median time per
// round, in ns.
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
		fmt.Printf("%-24s min %8.0f ns  median %8.0f ns\n", what, each[0], each[len(each)/2])
	}
	return nil
}

func latencyOf(e *engine.Engine, rank, n int) error {
	buf := make([]byte, n)
	m := engine.Match{Peer: 1 - rank, Tag: 1}
	return windows(rank, max(10, min(2000, 4<<20/(n+1))), fmt.Sprintf("one way %d B", n), 2, func() error {
		if rank == 0 {
			if err := e.Send(nil, m, 0, buf, engine.Standard, 0); err != nil {
				return err
			}
		}
		if _, err := e.Recv(nil, m, 0, buf, 0); err != nil {
			return err
		}
		if rank == 1 {
			return e.Send(nil, m, 0, buf, engine.Standard, 0)
		}
		return nil
	})
}

func rateOf(e *engine.Engine, rank int) error {
	buf := make([]byte, 8)
	var rs [64]*engine.Request
	m := engine.Match{Peer: 1 - rank, Tag: 1}
	return windows(rank, 500, "message of a window", 64, func() error {
		for i := range rs {
			if rank == 0 {
				rs[i] = e.Isend(m, 0, buf, engine.Standard, 0)
			} else {
				rs[i] = e.Irecv(m, 0, buf, 0)
			}
		}
		if err := e.WaitAll(nil, rs[:], nil); err != nil {
			return err
		}
		if rank == 0 {
			_, err := e.Recv(nil, m, 0, buf, 0)
			return err
		}
		return e.Send(nil, m, 0, buf, engine.Standard, 0)
	})
}

// BenchmarkProcesses measures two processes over shared memory, a core each.
func BenchmarkProcesses(b *testing.B) {
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
		c.ExtraFiles = []*os.File{memory}
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		require.NoError(b, c.Start())
		ranks = append(ranks, c)
	}
	for _, c := range ranks {
		require.NoError(b, c.Wait())
	}
}
