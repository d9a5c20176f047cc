package runtime

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeCaches writes a directory that describes the caches of processors as /sys does. For each
// processor, lists has the list of processors that share its L3 cache, or "" if the processor has
// no L3 cache.
func fakeCaches(t *testing.T, lists []string) string {
	t.Helper()
	dir := t.TempDir()
	write := func(p, index int, name, text string) {
		at := filepath.Join(dir, fmt.Sprintf("cpu%d", p), "cache", fmt.Sprintf("index%d", index))
		require.NoError(t, os.MkdirAll(at, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(at, name), []byte(text), 0o644))
	}
	for p, list := range lists {
		for index, level := range []string{"1", "1", "2"} {
			write(p, index, "level", level+"\n")
			write(p, index, "shared_cpu_list", fmt.Sprintln(p))
		}
		if list != "" {
			write(p, 3, "level", "3\n")
			write(p, 3, "shared_cpu_list", list+"\n")
		}
	}
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "cpufreq"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "cpu9x", "cache"), 0o755))
	return dir
}

// fakeNodes writes a directory that describes NUMA nodes by the lists of their processors, as /sys
// does.
func fakeNodes(t *testing.T, lists []string) string {
	t.Helper()
	dir := t.TempDir()
	for node, list := range lists {
		at := filepath.Join(dir, fmt.Sprintf("node%d", node))
		require.NoError(t, os.MkdirAll(at, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(at, "cpulist"), []byte(list+"\n"), 0o644))
	}
	return dir
}

// The domains of a machine are its L3 caches or, if it does not have several of them, its NUMA
// nodes. The domain of a rank is the domain that contains all processors that the rank may use. If no
// domain contains all of them, the domain of the rank is -1.
func TestCacheDomains(t *testing.T) {
	two := []string{"0-1,4", "0-1,4", "2-3,5", "2-3,5", "0-1,4", "2-3,5"} // two L3 caches, listed by processor
	for name, c := range map[string]struct {
		caches, nodes, want []string
		may                 []int
		domain              int
	}{
		"two caches, the first":        {two, []string{"0-5"}, []string{"0-1,4", "2-3,5"}, []int{0, 4}, 0},
		"two caches, the second":       {two, []string{"0-5"}, []string{"0-1,4", "2-3,5"}, []int{3}, 1},
		"two caches, both":             {two, []string{"0-5"}, []string{"0-1,4", "2-3,5"}, []int{1, 2}, -1},
		"two caches, none":             {two, nil, []string{"0-1,4", "2-3,5"}, []int{9}, -1},
		"one cache, two nodes":         {[]string{"0-1", "0-1"}, []string{"0", "1"}, []string{"0", "1"}, []int{1}, 1},
		"one cache, one node":          {[]string{"0-1", "0-1"}, []string{"0-1"}, []string{"0-1"}, []int{1}, 0},
		"no L3, two nodes":             {[]string{"", ""}, []string{"0", "1"}, []string{"0", "1"}, []int{0}, 0},
		"a node of memory alone":       {[]string{"0-1", "0-1"}, []string{"0-1", ""}, []string{"0-1"}, []int{0}, 0},
		"nothing described":            {nil, nil, nil, []int{0}, -1},
		"caches rather than nodes":     {two, []string{"0-2", "3-5"}, []string{"0-1,4", "2-3,5"}, []int{2, 3}, 1},
		"a list without its processor": {[]string{"7", "x-", "2", "3"}, nil, []string{"2", "3"}, []int{2}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			lists := domainLists(fakeCaches(t, c.caches), fakeNodes(t, c.nodes))
			require.Equal(t, c.want, slices.Clip(lists))
			require.Equal(t, c.domain, domainAmong(lists, func(p int) bool { return slices.Contains(c.may, p) }))
		})
	}
	require.Empty(t, domainLists("/none", "/none"))
	domain, domains := CacheDomain()
	require.Less(t, domain, max(domains, 1))
}
