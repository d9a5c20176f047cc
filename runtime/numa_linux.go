//go:build linux && !portable

package runtime

import "golang.org/x/sys/unix"

// mayRunOn says which processors this process may use; all if that is not known.
func mayRunOn() func(processor int) bool {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return func(int) bool { return true }
	}
	return set.IsSet
}
