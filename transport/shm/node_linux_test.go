//go:build !portable

package shm_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/shm"
)

// If a limit of the process forbids the mapping of the node memory, the error names the limit.
func TestLimitOfAddresses(t *testing.T) {
	if os.Getenv(envExec) != "" {
		t.Skip("an emulator maps the memory of the program itself, and does not end under such a limit")
	}
	const size = 1 << 46 // the limit leaves the rest of the process enough, also with the race detector
	fd, err := unix.MemfdCreate("node", unix.MFD_CLOEXEC)
	require.NoError(t, err)
	f := os.NewFile(uintptr(fd), "node")
	defer func() { require.NoError(t, f.Close()) }()
	require.NoError(t, f.Truncate(size))
	var old unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_AS, &old))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: size, Max: old.Max}))
	_, err = shm.OpenNode(fd, 1, size)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_AS, &old))
	require.ErrorIs(t, err, unix.ENOMEM)
	require.ErrorContains(t, err, "raise the limit (ulimit -v unlimited)")
}
