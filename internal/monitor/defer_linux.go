package monitor

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// tasks is the directory that lists the threads of this process (proc(5)).
const tasks = "/proc/self/task"

// deferred reports whether Defer has given the monitor's thread the policy SCHED_BATCH.
var deferred atomic.Bool

// Defer gives the monitor's thread the policy SCHED_BATCH and a longer timer slack. It does nothing if the thread is
// not found, if the policy of the process is not SCHED_OTHER, or if the kernel refuses the change of the policy.
func Defer() {
	if tid := thread(tasks, os.Getpid()); tid > 0 && change(tid, unix.SCHED_NORMAL, unix.SCHED_BATCH) {
		deferred.Store(true)
		lengthen(tid)
	}
}

// The timer slack of a thread is the time in nanoseconds by which the kernel may delay the end of a
// sleep (prctl(2), PR_SET_TIMERSLACK).
const (
	usualSlack   = 50_000
	monitorSlack = 500_000
)

// lengthen gives the monitor's thread a longer timer slack. Without CAP_SYS_NICE, the call has no effect
// (proc(5), timerslack_ns).
func lengthen(tid int) {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/timerslack_ns", tid), fmt.Append(nil, monitorSlack), 0)
}

// Restore gives the calling thread the policy SCHED_OTHER and the usual timer slack. It does this only if the
// thread has inherited the policy and the timer slack of the monitor. Ranks call it before they sleep,
// because policy and slack matter only when a thread wakes up.
func Restore() {
	if !deferred.Load() {
		return
	}
	if policy, _, _ := unix.RawSyscall(unix.SYS_SCHED_GETSCHEDULER, 0, 0, 0); policy == unix.SCHED_BATCH {
		change(0, unix.SCHED_BATCH, unix.SCHED_NORMAL)
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, usualSlack, 0, 0, 0)
	}
}

// change gives a thread the policy in the argument to, if the thread has the policy in the argument from.
// Otherwise it does nothing. It returns true if it has changed the policy.
func change(tid int, from, to uint32) bool {
	a, err := unix.SchedGetAttr(tid, 0)
	if err != nil || a.Policy != from {
		return false
	}
	b := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: to, Flags: a.Flags, Nice: a.Nice}
	return unix.SchedSetAttr(tid, &b, 0) == nil
}

// thread returns the thread ID of the monitor, or 0 if it is not found. The monitor is the first thread that
// Go starts (runtime.main), before the program's init functions. Its ID is therefore the lowest thread ID
// above the process ID. If the kernel's IDs have wrapped around, and no thread ID is above the process ID, it
// is the lowest of all thread IDs.
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
