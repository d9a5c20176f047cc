package hugepages_test

import (
	"os"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/hugepages"
)

// faultInPages is the length of the memory that the tests map, in pages.
const faultInPages = 256

// TestFaultIn checks that reads of untouched shared memory take few page faults after FaultIn. In the second case
// the memory does not begin on a page, so that madvise(2) fails as it does on old kernels.
func TestFaultIn(t *testing.T) {
	for name, from := range map[string]int{"a whole page": 0, "the middle of a page": 8} {
		t.Run(name, func(t *testing.T) {
			b := untouched(t, unix.MAP_SHARED)
			hugepages.FaultIn(b[from:], false)
			sum := byte(0)
			faults := faultsOf(t, func(at int) { sum += b[at] })
			require.Zero(t, sum)
			require.Less(t, faults, int64(faultInPages/2), "others are faults of the Go runtime")
		})
	}
}

// TestFaultInForWrites checks that writes to untouched private memory take few page faults after FaultIn. The
// memory is private, because in private memory a write to a page that was only read takes another page fault.
func TestFaultInForWrites(t *testing.T) {
	probe := untouched(t, unix.MAP_PRIVATE)
	if err := unix.Madvise(probe, unix.MADV_POPULATE_WRITE); err != nil {
		t.Skip("needs MADV_POPULATE_WRITE (Linux 5.14): ", err)
	}
	if writeFaults(t, probe) >= faultInPages/2 {
		t.Skip("needs MADV_POPULATE_WRITE, which the emulator ignores")
	}
	b := untouched(t, unix.MAP_PRIVATE)
	hugepages.FaultIn(b, true)
	require.Less(t, writeFaults(t, b), int64(faultInPages/2), "others are faults of the Go runtime")
}

// writeFaults returns the number of page faults of writes to all pages of b.
func writeFaults(t *testing.T, b []byte) int64 {
	t.Helper()
	return faultsOf(t, func(at int) { b[at] = 1 })
}

// untouched returns new memory without pages. kind is MAP_SHARED or MAP_PRIVATE.
func untouched(t *testing.T, kind int) []byte {
	t.Helper()
	b, err := unix.Mmap(-1, 0, faultInPages*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, kind|unix.MAP_ANONYMOUS)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(b)) })
	return b
}

// faultsOf returns the number of page faults of this thread while use is called with the offset of each page. The
// faults of the process would contain those of the garbage collector, which were more than 100 under load.
func faultsOf(t *testing.T, use func(at int)) int64 {
	t.Helper()
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	before := minorFaults(t)
	for at := 0; at < faultInPages*os.Getpagesize(); at += os.Getpagesize() {
		use(at)
	}
	return minorFaults(t) - before
}

// minorFaults returns the number of this thread's page faults that read nothing from a disk.
func minorFaults(t *testing.T) int64 {
	t.Helper()
	var u unix.Rusage
	require.NoError(t, unix.Getrusage(unix.RUSAGE_THREAD, &u))
	return u.Minflt
}
