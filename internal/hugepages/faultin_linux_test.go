package hugepages_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/hugepages"
)

// faultInPages is the length of the shared memory that readFaults maps, in pages.
const faultInPages = 256

// TestFaultIn checks that reads of untouched shared memory take no page faults after FaultIn.
func TestFaultIn(t *testing.T) {
	if n := readFaults(t, func(b []byte) { _ = unix.Madvise(b, unix.MADV_POPULATE_READ) }); n > faultInPages/2 {
		t.Skip("needs MADV_POPULATE_READ (Linux 5.14, no emulator)")
	}
	require.Less(t, readFaults(t, hugepages.FaultIn), int64(faultInPages/2), "others are faults of the Go runtime")
}

// readFaults maps new shared memory and calls prepare with the memory. It returns how many page faults this
// process takes while it then reads each page.
func readFaults(t *testing.T, prepare func(b []byte)) int64 {
	t.Helper()
	b, err := unix.Mmap(-1, 0, faultInPages*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Munmap(b)) }()
	prepare(b)
	before, sum := minorFaults(t), byte(0)
	for at := 0; at < len(b); at += os.Getpagesize() {
		sum += b[at]
	}
	require.Zero(t, sum)
	return minorFaults(t) - before
}

// minorFaults returns the number of this process's page faults that read nothing from a disk.
func minorFaults(t *testing.T) int64 {
	t.Helper()
	var u unix.Rusage
	require.NoError(t, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return u.Minflt
}
