package main

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// bindProcess binds all threads of a running process, not only its first thread.
func TestBindProcess(t *testing.T) {
	cpus, err := allowedCPUs()
	require.NoError(t, err)
	if len(cpus) < 2 {
		t.Skip("one processor: nothing to bind to")
	}
	pid := os.Getpid()
	defer func() { require.NoError(t, bindProcess(pid, cpus)) }()
	for _, cpu := range cpus[:2] {
		require.NoError(t, bindProcess(pid, []int{cpu}))
		tasks, err := filepath.Glob("/proc/self/task/*")
		require.NoError(t, err)
		require.Greater(t, len(tasks), 1)
		for _, task := range tasks {
			tid, err := strconv.Atoi(filepath.Base(task))
			require.NoError(t, err)
			var set unix.CPUSet
			if unix.SchedGetaffinity(tid, &set) != nil {
				continue // the thread has ended
			}
			require.True(t, set.IsSet(cpu))
			require.Equal(t, 1, set.Count())
		}
	}
	require.ErrorIs(t, bindProcess(-1, cpus), os.ErrNotExist)
	require.Error(t, bindProcess(pid, nil))
}
