package launch

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
)

// KillRank kills a random rank with SIGKILL. It chooses among the processes whose environment contains the
// string entry, which has the form NAME=VALUE. It never kills the rank whose name is the argument last. It
// returns the name of the rank that it has killed, or "" if there was no such rank. A process that was started
// as a spare has no rank in its environment. It counts as a rank once it has mapped the memory of a node.
func KillRank(entry, last string) string {
	ranks := map[string]int{}
	for _, pid := range Marked(entry) {
		if rank := rankOf(pid); rank != "" && rank != last {
			ranks[rank] = pid
		}
	}
	names := slices.Sorted(maps.Keys(ranks))
	if len(names) == 0 {
		return ""
	}
	victim := names[rand.IntN(len(names))]
	if syscall.Kill(ranks[victim], syscall.SIGKILL) != nil {
		return ""
	}
	return victim
}

// rankOf returns the name of the rank that a process is, or "" if the process is not a rank.
func rankOf(pid int) string {
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return "" // the process has ended
	}
	variables := map[string]string{}
	for v := range strings.SplitSeq(string(environment), "\x00") {
		name, value, _ := strings.Cut(v, "=")
		variables[name] = value
	}
	if variables["GORUN_SPARE"] == "" {
		return variables["GORUN_RANK"]
	}
	memory, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if !bytes.Contains(memory, []byte("/memfd:gorun-node")) {
		return ""
	}
	return fmt.Sprintf("of process %d", pid)
}
