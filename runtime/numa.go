package runtime

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gorun-hpc/gorun/internal/ranges"
)

// sysNodes is the directory in which Linux describes the NUMA nodes.
const sysNodes = "/sys/devices/system/node"

// numaDomains returns, in ascending order, the numbers of the NUMA nodes that have a processor for
// which allowed returns true. It reads the description in dir. The result is empty if the system
// describes no NUMA nodes.
func numaDomains(dir string, allowed func(processor int) bool) []int {
	var found []int
	for node, list := range numaLists(dir) {
		if anyListed(list, allowed) {
			found = append(found, node)
		}
	}
	slices.Sort(found)
	return found
}

// numaLists returns the list of the processors of each NUMA node, by the number of the node.
func numaLists(dir string) map[int]string {
	names, _ := filepath.Glob(filepath.Join(dir, "node[0-9]*", "cpulist")) // the pattern is well-formed
	lists := make(map[int]string)
	for _, name := range names {
		node, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(filepath.Dir(name)), "node"))
		text, readErr := os.ReadFile(name)
		if err == nil && readErr == nil {
			lists[node] = strings.TrimSpace(string(text))
		}
	}
	return lists
}

// anyListed reports whether a list like "0-3,8" has a processor for which allowed returns true.
func anyListed(list string, allowed func(int) bool) bool {
	all, _ := ranges.Parse(list, ranges.Limits{Below: processorsMax, Count: processorsMax}) // none after an error
	return slices.ContainsFunc(all, allowed)
}

// processorsMax is the exclusive upper bound of the numbers in a list of processors. anyListed ignores a list that
// has other numbers.
const processorsMax = 1 << 16
