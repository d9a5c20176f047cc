//go:build linux && !portable

package runtime

import "golang.org/x/sys/unix"

// mayRunOn returns a function that reports whether the thread that has called mayRunOn may run on a
// processor. Usually all threads of a rank have the same affinity. If the affinity cannot be read, the
// function returns true for every processor.
func mayRunOn() func(processor int) bool {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return func(int) bool { return true }
	}
	return set.IsSet
}
