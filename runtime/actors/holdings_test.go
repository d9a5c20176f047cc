package actors_test

import (
	"os"
	goruntime "runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// collect runs the garbage collector. It returns after the collector has called the cleanups of
// the objects that it freed before.
func collect() {
	done := make(chan struct{})
	goruntime.AddCleanup(new([64]byte), func(done chan struct{}) { close(done) }, done)
	goruntime.GC()
	<-done
}

// collected waits until the garbage collector has freed every World.
func collected(t *testing.T, all []weak.Pointer[runtime.World]) {
	t.Helper()
	left := 0
	for deadline := time.Now().Add(soon); ; {
		collect()
		left = 0
		for _, w := range all {
			if w.Value() != nil {
				left++
			}
		}
		if left == 0 || time.Now().After(deadline) {
			break
		}
	}
	require.Zero(t, left, "number of Worlds, of %d, that are still reachable", len(all))
}

// holding records the resources that this process has at some time.
type holding struct {
	heap                int64 // in bytes
	goroutines          int
	descriptors, shared []string
}

// holdings returns the resources that this process has now.
func holdings(t *testing.T) holding {
	t.Helper()
	collect()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	h := holding{heap: int64(m.HeapAlloc), goroutines: goruntime.NumGoroutine()}
	descriptors, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, d := range descriptors {
		if to, err := os.Readlink("/proc/self/fd/" + d.Name()); err == nil {
			h.descriptors = append(h.descriptors, to)
		}
	}
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	for line := range strings.Lines(string(maps)) {
		// Count only shared mappings. The mappings of threads and of the heap are private.
		if fields := strings.Fields(line); strings.HasSuffix(fields[1], "s") {
			h.shared = append(h.shared, line)
		}
	}
	return h
}

// heapSlack is the chance variation of the heap in bytes. A World has many times as much.
const heapSlack = 256 << 10

// unchanged waits until this process has no more resources than before.
func (before holding) unchanged(t *testing.T) {
	t.Helper()
	var now holding
	for deadline := time.Now().Add(soon); ; {
		now = holdings(t)
		if now.heap < before.heap+heapSlack && now.goroutines <= before.goroutines && len(now.descriptors) <= len(before.descriptors) &&
			len(now.shared) <= len(before.shared) || time.Now().After(deadline) {
			break
		}
	}
	require.Less(t, now.heap, before.heap+heapSlack)
	require.LessOrEqual(t, now.goroutines, before.goroutines)
	require.LessOrEqual(t, len(now.descriptors), len(before.descriptors), now.descriptors)
	require.LessOrEqual(t, len(now.shared), len(before.shared), now.shared)
}
