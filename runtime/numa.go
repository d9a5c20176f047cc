package runtime

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// sysNodes is where Linux describes the NUMA nodes.
const sysNodes = "/sys/devices/system/node"

// numaDomains returns the NUMA nodes of the processors that may be used, in order, by the
// description in a directory. There is none where the system describes none.
func numaDomains(dir string, may func(processor int) bool) []int {
	lists, _ := filepath.Glob(filepath.Join(dir, "node[0-9]*", "cpulist")) // the pattern is well-formed
	var found []int
	for _, name := range lists {
		node, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(filepath.Dir(name)), "node"))
		text, readErr := os.ReadFile(name)
		if err == nil && readErr == nil && anyListed(strings.TrimSpace(string(text)), may) {
			found = append(found, node)
		}
	}
	slices.Sort(found)
	return found
}

// anyListed reports whether a list like "0-3,8" has a processor for which may is true.
func anyListed(list string, may func(int) bool) bool {
	for part := range strings.SplitSeq(list, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		first, err := strconv.Atoi(low)
		last, err2 := strconv.Atoi(high)
		if err != nil || err2 != nil || last-first > processorsMax {
			continue
		}
		for p := first; p <= last; p++ {
			if may(p) {
				return true
			}
		}
	}
	return false
}

// processorsMax bounds a range of processors.
const processorsMax = 1 << 16
