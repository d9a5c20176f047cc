package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// machine returns a directory that lists processors 0 to n-1, as sysfs does.
func machine(t *testing.T, n int) (string, []int) {
	t.Helper()
	dir := t.TempDir()
	var cpus []int
	for cpu := range n {
		require.NoError(t, os.Mkdir(filepath.Join(dir, fmt.Sprint("cpu", cpu)), 0o500))
		cpus = append(cpus, cpu)
	}
	return dir, cpus
}

// A job reserves as many processors as it has ranks, or all processors if the job has more ranks. It reserves
// only processors that no other job has reserved, and releases them later.
func TestJobsReserveDifferentProcessors(t *testing.T) {
	dir, cpus := machine(t, 4)
	take := func(cpus []int, ranks int, want ...int) *reservation {
		t.Helper()
		r, warning, err := reserve(dir, cpus, ranks)
		require.NoError(t, err)
		require.NoError(t, warning)
		require.Equal(t, want, r.cpus)
		return r
	}
	first := take(cpus, 1, 0)
	second := take(cpus, 2, 1, 2)
	_, _, err := reserve(dir, cpus, 2)
	require.EqualError(t, err, "-bind-to core: 2 of the processors 0-3 are wanted, and other jobs have bound ranks to 0-2: wait for their end, start fewer ranks, or leave -bind-to out")
	_, _, err = reserve(dir, cpus[1:], 9)
	require.ErrorContains(t, err, "-bind-to core: 3 of the processors 1-3 are wanted, and other jobs have bound ranks to 1-2:")
	third := take(cpus, 1, 3) // the refused jobs have returned their processors
	first.release()
	take(cpus[:1], 9, 0).release()
	second.release()
	third.release()
	take(cpus, 9, 0, 1, 2, 3).release()
}

// On a machine that does not list its processors, ranks are bound without a reservation, and gorun prints a
// warning.
func TestProcessorsThatAreNotShownAreNotReserved(t *testing.T) {
	dir, cpus := machine(t, 2)
	require.NoError(t, os.Remove(filepath.Join(dir, "cpu1")))
	for range 2 {
		r, warning, err := reserve(dir, cpus, 3)
		require.NoError(t, err)
		require.ErrorContains(t, warning, "-bind-to core: other jobs may use the same processors: open "+dir+"/cpu1: no such file or directory")
		require.Equal(t, cpus, r.cpus)
		require.Empty(t, r.locks)
	}
}
