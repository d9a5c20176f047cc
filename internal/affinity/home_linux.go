package affinity

import (
	goruntime "runtime"

	"golang.org/x/sys/unix"
)

// enter moves the calling thread to the rank's processor, unless it runs there. The thread may then use the same
// processors as before. It stays where it is if the number of processors that it may use is not h.processors, for
// example because its rank is bound, or if the kernel refuses.
func (h *Home) enter() {
	goruntime.LockOSThread() // one thread makes all system calls
	defer goruntime.UnlockOSThread()
	at := processor()
	if at < 0 || h.stay.Load() == int32(at) {
		return
	}
	var allowed, home unix.CPUSet
	if unix.SchedGetaffinity(0, &allowed) != nil || allowed.Count() != h.processors {
		h.stay.Store(int32(at))
		return
	}
	cpu := nth(&allowed, h.index)
	if cpu == at {
		h.stay.Store(int32(at))
		return
	}
	home.Set(cpu)
	if unix.SchedSetaffinity(0, &home) != nil || unix.SchedSetaffinity(0, &allowed) == nil {
		return
	}
	// The processors of the cpuset have changed meanwhile. The kernel ignores those that are not in the cpuset.
	allowed.Fill()
	_ = unix.SchedSetaffinity(0, &allowed)
}

// nth returns the processor with an index in the ascending order of a set. The set must have more than index
// processors.
func nth(set *unix.CPUSet, index int) int {
	for cpu := 0; ; cpu++ {
		if !set.IsSet(cpu) {
			continue
		}
		if index == 0 {
			return cpu
		}
		index--
	}
}
