package hugepages_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/hugepages"
)

// Pages of shared memory that nobody has touched exist once they are faulted in.
func TestFaultIn(t *testing.T) {
	const pages = 256
	b, err := unix.Mmap(-1, 0, pages*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Munmap(b)) }()
	hugepages.FaultIn(b)
	populated := minorFaults(t)
	sum := byte(0)
	for at := 0; at < len(b); at += os.Getpagesize() {
		sum += b[at]
	}
	require.Zero(t, sum)
	if err := unix.Madvise(b, unix.MADV_POPULATE_READ); err != nil {
		t.Skip("needs MADV_POPULATE_READ (Linux 5.14): ", err)
	}
	require.Less(t, minorFaults(t)-populated, int64(pages/2), "others are faults of the Go runtime")
}

// minorFaults returns how many page faults this process has had that read nothing from a disk.
func minorFaults(t *testing.T) int64 {
	t.Helper()
	var u unix.Rusage
	require.NoError(t, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return u.Minflt
}
