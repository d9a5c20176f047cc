//go:build linux

package runtime

import (
	"os"
	goruntime "runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/internal/affinity"
	"github.com/gorun-hpc/gorun/transport"
)

// TestWhichRanksReturn checks which ranks have a processor to which they return.
func TestWhichRanksReturn(t *testing.T) {
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(1))
	for name, tc := range map[string]struct {
		local      *localJob
		processors int
		threads    int
		home       bool
	}{
		"ranks share processors":  {nil, 2, 1, true},
		"a processor for each":    {nil, 4, 1, false},
		"goroutines":              {new(localJob), 2, 1, false},
		"several threads compute": {nil, 2, 2, false},
		"one processor for all":   {nil, 1, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			goruntime.GOMAXPROCS(tc.threads)
			w := &World{local: tc.local, job: bootstrap.Job{LocalSize: 4, Processors: tc.processors}}
			require.Equal(t, tc.home, w.home() != nil)
		})
	}
}

// slowSleeper is a Sleeper whose Yield takes as long as a yield to another process.
type slowSleeper struct{ transport.Sleeper }

func (slowSleeper) Yield() {
	for began := time.Now(); time.Since(began) < 5*time.Microsecond; {
	}
}

// TestYieldingRankReturns checks that the thread of a rank that yields leaves a processor that is not the rank's.
// The kernel moves threads, too. Therefore more than three quarters of the attempts must succeed, not all of them.
func TestYieldingRankReturns(t *testing.T) {
	var allowed, last unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &allowed))
	n := allowed.Count()
	if n < 2 {
		t.Skip("this process may use one processor only")
	}
	for cpu := range len(allowed) * 64 {
		if allowed.IsSet(cpu) {
			last.Zero()
			last.Set(cpu)
		}
	}
	goruntime.LockOSThread() // never unlocked: the thread ends with the test
	sleeper := wordSleeper{slowSleeper{}, new(memory), affinity.NewHome(0, 2*n, n)}
	const attempts = 50
	returned := 0
	for range attempts {
		require.NoError(t, unix.SchedSetaffinity(0, &last))
		require.NoError(t, unix.SchedSetaffinity(0, &allowed))
		for range 64 {
			sleeper.Yield()
		}
		if !last.IsSet(onProcessor(t)) {
			returned++
		}
	}
	require.Greater(t, returned, attempts*3/4)
}

// onProcessor returns the processor on which the calling thread runs.
func onProcessor(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/thread-self/stat")
	require.NoError(t, err)
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	cpu, err := strconv.Atoi(fields[36]) // the field processor of proc_pid_stat(5)
	require.NoError(t, err)
	return cpu
}
