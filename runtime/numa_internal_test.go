package runtime

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// numaDomains returns the NUMA nodes of the processors that a rank may use, and ignores lists that
// cannot be parsed. domainOf returns the number of the NUMA node if there is exactly one.
func TestNUMADomains(t *testing.T) {
	dir := t.TempDir()
	for node, list := range map[string]string{
		"node0": "0-3,8\n", "node1": "4-7,9-11\n", "node10": "12\n", "node2": "\n", "node3": "x-y,9-,-2,5-4\n", "node4": "0-99999999\n",
		"nodes": "0-3\n", "node5x": "0-3\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, node), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, node, "cpulist"), []byte(list), 0o644))
	}
	for _, c := range []struct {
		may    []int
		want   []int
		domain int
	}{
		{[]int{0, 1}, []int{0}, 0},
		{[]int{8}, []int{0}, 0},
		{[]int{5, 10}, []int{1}, 1},
		{[]int{12}, []int{10}, 10},
		{[]int{3, 4}, []int{0, 1}, numaSeveral},
		{[]int{77}, nil, numaSeveral},
		{nil, nil, numaSeveral},
	} {
		may := func(p int) bool {
			for _, m := range c.may {
				if p == m {
					return true
				}
			}
			return false
		}
		got := numaDomains(dir, may)
		require.Equal(t, c.want, got)
		require.Equal(t, c.domain, domainOf(got))
	}
	require.Empty(t, numaDomains(filepath.Join(dir, "none"), func(int) bool { return true }))
}
