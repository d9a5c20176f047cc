package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The error for a lack of file descriptors has the number of descriptors that the ranks need and, if the limit of
// the process was reached, also that limit. Other errors stay unchanged.
func TestScarceDescriptors(t *testing.T) {
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	err := scarce(fmt.Errorf("start rank 3: %w", unix.EMFILE), 100)
	require.ErrorIs(t, err, unix.EMFILE)
	require.EqualError(t, err, fmt.Sprintf("start rank 3: too many open files: this process may have %d files open at a time, "+
		"and 100 ranks need up to 640: raise the limit (ulimit -Hn)", limit.Cur))
	require.ErrorContains(t, scarce(unix.ENFILE, 10), "(sysctl fs.file-max), and 10 ranks need up to 100")
	other := errors.New("other")
	require.Equal(t, other, scarce(other, 1))
	require.NoError(t, scarce(nil, 1))
}
