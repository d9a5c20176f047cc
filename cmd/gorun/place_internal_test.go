package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/placement"
)

// readMachine reads the NUMA nodes of the allowed processors from sysfs, ignores other entries, and
// works on a kernel without NUMA nodes.
func TestMachineIsRead(t *testing.T) {
	dir := t.TempDir()
	for name, list := range map[string]string{"node0": "0-1\n", "node10": "2-3\n", "node2": "\n", "nodes": "7\n", "node+3": "all", "1": "all"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "cpulist"), []byte(list), 0o600))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "node5"), 0o700), "without a list")
	got, err := readMachine(dir, []int{0, 2, 3})
	require.NoError(t, err)
	require.Equal(t, []placement.Domain{{Node: 0, Processors: []int{0}}, {Node: 10, Processors: []int{2, 3}}}, got)
	got, err = readMachine(filepath.Join(dir, "none"), []int{0, 2})
	require.NoError(t, err)
	require.Equal(t, []placement.Domain{{Node: -1, Processors: []int{0, 2}}}, got)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "node0", "cpulist"), []byte("all"), 0o600))
	_, err = readMachine(dir, []int{0})
	require.ErrorContains(t, err, "processors of NUMA node 0: ")
}
