package launch

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
)

// KillRank kills a rank at random, by SIGKILL, among the processes with an entry in their environment;
// another than last. It returns which one, "" if there is none. The environment of a spare does not tell
// its rank: the job is to have none.
func KillRank(entry, last string) string {
	ranks := map[string]int{}
	for _, pid := range Marked(entry) {
		environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			continue // it has ended
		}
		for _, v := range strings.Split(string(environment), "\x00") {
			if rank, ok := strings.CutPrefix(v, "GORUN_RANK="); ok && rank != last {
				ranks[rank] = pid
			}
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
