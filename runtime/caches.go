package runtime

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// sysProcessors is the directory in which Linux describes the processors and their caches.
const sysProcessors = "/sys/devices/system/cpu"

// lastLevel is the level of an L3 cache, as Linux writes it
// (Documentation/ABI/testing/sysfs-devices-system-cpu).
const lastLevel = "3"

// ownDomain returns what CacheDomain returns, and computes it once.
var ownDomain = sync.OnceValues(func() (domain, domains int) {
	lists := domainLists(sysProcessors, sysNodes)
	return domainAmong(lists, mayRunOn()), len(lists)
})

// domainLists returns the lists of processors that share an L3 cache. If fewer than two such lists
// exist, it returns the lists of processors that share a NUMA node. The arguments are the directories
// in which Linux describes processors and nodes.
func domainLists(processors, nodes string) []string {
	lists := cacheLists(processors)
	if len(lists) > 1 {
		return lists
	}
	numa := numaLists(nodes)
	lists = lists[:0]
	for _, node := range slices.Sorted(maps.Keys(numa)) {
		if anyListed(numa[node], func(int) bool { return true }) { // a node may have memory and no processors
			lists = append(lists, numa[node])
		}
	}
	return lists
}

// domainAmong returns the index of the only list that contains processors for which allowed returns true.
// The result is -1 if several lists or no list contain such processors.
func domainAmong(lists []string, allowed func(processor int) bool) int {
	found := -1
	for i, list := range lists {
		if !anyListed(list, allowed) {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	return found
}

// cacheLists returns the lists of processors that share an L3 cache, in the order of their first
// processors. For each list it reads the description of one processor.
func cacheLists(dir string) []string {
	names, _ := filepath.Glob(filepath.Join(dir, "cpu[0-9]*", "cache")) // the pattern is well-formed
	caches := make(map[int]string)
	for _, name := range names {
		if p, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(filepath.Dir(name)), "cpu")); err == nil {
			caches[p] = name
		}
	}
	var lists []string
	for _, p := range slices.Sorted(maps.Keys(caches)) {
		is := func(processor int) bool { return processor == p }
		if slices.ContainsFunc(lists, func(list string) bool { return anyListed(list, is) }) {
			continue
		}
		if list := lastLevelOf(caches[p]); anyListed(list, is) {
			lists = append(lists, list)
		}
	}
	return lists
}

// lastLevelOf returns the list of the processors that share the L3 cache of a processor, "" if
// there is none. dir is the directory that describes the processor's caches.
func lastLevelOf(dir string) string {
	levels, _ := filepath.Glob(filepath.Join(dir, "index[0-9]*", "level")) // the pattern is well-formed
	for _, name := range levels {
		level, err := os.ReadFile(name)
		if err != nil || strings.TrimSpace(string(level)) != lastLevel {
			continue
		}
		if list, err := os.ReadFile(filepath.Join(filepath.Dir(name), "shared_cpu_list")); err == nil {
			return strings.TrimSpace(string(list))
		}
	}
	return ""
}
