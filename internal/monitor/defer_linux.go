package monitor

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// tasks is where the threads of this process are listed (proc(5)).
const tasks = "/proc/self/task"

// deferred says that the monitor's thread has the policy SCHED_BATCH.
var deferred atomic.Bool

// Defer gives the monitor's thread the policy SCHED_BATCH. Nothing changes where the thread
// is not found, the process has another policy than SCHED_OTHER, or the kernel refuses.
func Defer() {
	if tid := thread(tasks, os.Getpid()); tid > 0 && change(tid, unix.SCHED_NORMAL, unix.SCHED_BATCH) {
		deferred.Store(true)
		lengthen(tid)
	}
}

// The timer slack of a thread is how much later than asked for the kernel may wake it up, in nanoseconds
// (prctl(2), PR_SET_TIMERSLACK).
const (
	usualSlack   = 50_000
	monitorSlack = 500_000
)

// lengthen makes the monitor's sleeps longer, where the process may: it takes CAP_SYS_NICE (proc(5),
// timerslack_ns).
func lengthen(tid int) {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/timerslack_ns", tid), fmt.Append(nil, monitorSlack), 0)
}

// Restore gives the calling thread the policy SCHED_OTHER and the usual timer slack back if it has inherited
// the monitor's. It is called before a sleep, because they matter only
// when a thread wakes up.
func Restore() {
	if !deferred.Load() {
		return
	}
	if policy, _, _ := unix.RawSyscall(unix.SYS_SCHED_GETSCHEDULER, 0, 0, 0); policy == unix.SCHED_BATCH {
		change(0, unix.SCHED_BATCH, unix.SCHED_NORMAL)
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, usualSlack, 0, 0, 0)
	}
}

// change gives a thread with one policy another one, and reports whether it did.
func change(tid int, from, to uint32) bool {
	a, err := unix.SchedGetAttr(tid, 0)
	if err != nil || a.Policy != from {
		return false
	}
	b := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: to, Flags: a.Flags, Nice: a.Nice}
	return unix.SchedSetAttr(tid, &b, 0) == nil
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
