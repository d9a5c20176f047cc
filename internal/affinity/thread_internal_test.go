//go:build linux

package affinity

import (
	goruntime "runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// slow is a Yielder whose yields take as long as yields that let another process run.
type slow struct{}

func (slow) Yield() {
	for began := time.Now(); time.Since(began) < 2*yieldedLong; {
	}
}

// attempts is the number of times that a test lets a thread return.
const attempts = 50

// processors returns the number of processors that this process may use, and the first and the last of them. It skips
// the test if there is only one.
func processors(t *testing.T) (n, first, last int) {
	t.Helper()
	var allowed unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &allowed))
	n = allowed.Count()
	if n < 2 {
		t.Skip("this process may use one processor only")
	}
	return n, nth(&allowed, 0), nth(&allowed, n-1)
}

// after moves the thread to a processor, whose number is the argument from, and calls yield. It returns the number of
// the processor on which the thread runs afterwards.
func after(t *testing.T, from int, yield func()) int {
	t.Helper()
	var allowed, one, kept unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &allowed))
	one.Set(from)
	require.NoError(t, unix.SchedSetaffinity(0, &one))
	require.NoError(t, unix.SchedSetaffinity(0, &allowed))
	yield()
	at := processor()
	require.NoError(t, unix.SchedGetaffinity(0, &kept))
	require.Equal(t, allowed, kept, "the thread may use the same processors")
	return at
}

// TestThreadReturns checks when a thread returns to the processor of its rank. Because the kernel moves threads,
// too, only most of the attempts need to show it.
func TestThreadReturns(t *testing.T) {
	n, first, last := processors(t)
	long := func(h *Home) { h.yielded(yieldedLong) }
	for name, tc := range map[string]struct {
		rank, processors int
		from, want       int
		yield            func(h *Home)
	}{
		"first rank":       {0, n, last, first, long},
		"last rank":        {2*n - 1, n, first, last, long},
		"at home":          {0, n, first, first, long},
		"not shared":       {0, n, last, last, func(h *Home) { h.yielded(yieldedLong - 1) }},
		"bound to a part":  {0, n + 1, last, last, long},
		"one of the looks": {0, n, last, first, func(h *Home) { yields(h, yieldsPerLook) }},
		"before a look":    {0, n, last, last, func(h *Home) { yields(h, yieldsPerLook-1) }},
	} {
		t.Run(name, func(t *testing.T) {
			goruntime.LockOSThread() // never unlocked: the thread ends with the test
			right := 0
			for range attempts {
				h := NewHome(tc.rank, 2*tc.processors, tc.processors)
				if after(t, tc.from, func() { tc.yield(h) }) == tc.want {
					right++
				}
			}
			require.Greater(t, right, attempts*3/4)
		})
	}
}

// yields yields n times, each time for as long as if another process ran.
func yields(h *Home, n int) {
	for range n {
		h.Yield(slow{})
	}
}

// TestLaterLooks checks that a thread returns to its rank's processor even if an earlier look has found the thread
// there.
func TestLaterLooks(t *testing.T) {
	n, first, last := processors(t)
	goruntime.LockOSThread() // never unlocked: the thread ends with the test
	h, right := NewHome(0, 2*n, n), 0
	after(t, first, h.enter)
	for range attempts {
		if after(t, last, h.enter) == first {
			right++
		}
	}
	require.Greater(t, right, attempts*3/4)
}
