package monitor

import (
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// tasks is where the threads of this process are listed (proc(5)).
const tasks = "/proc/self/task"

// Defer gives the monitor's thread the policy SCHED_BATCH. Where the thread is not found,
// or the kernel refuses, nothing changes.
func Defer() {
	if tid := thread(tasks, os.Getpid()); tid > 0 {
		_ = unix.SchedSetAttr(tid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_BATCH}, 0)
	}
}

// thread returns the number of the monitor's thread, 0 if it is not found. It is the first
// that Go starts (runtime.main), before the program's init functions: the lowest number
// above that of the process, or the lowest at all where the kernel's count has begun again.
func thread(tasks string, pid int) int {
	names, err := filepath.Glob(filepath.Join(tasks, "*"))
	if err != nil {
		return 0
	}
	above, lowest := 0, 0
	for _, name := range names {
		tid, err := strconv.Atoi(filepath.Base(name))
		if err != nil || tid == pid {
			continue
		}
		if lowest == 0 || tid < lowest {
			lowest = tid
		}
		if tid > pid && (above == 0 || tid < above) {
			above = tid
		}
	}
	if above > 0 {
		return above
	}
	return lowest
}
