package watchdog

import (
	"os"
	"os/signal"
	"syscall"
)

// Go initializes packages in the order of their paths, as soon as the imports of a package are initialized
// (Go specification, "Program initialization"). This package imports few packages, so that it is initialized
// before the packages whose initialization takes time. TestWatchdogWaitsBeforeInitialization checks this.
func init() {
	if len(os.Args) < 2 || os.Args[1] != Command {
		return
	}
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP)
	if dismissed(FD) {
		os.Exit(0)
	}
	// The program goes on to its main function, which carries out the orders.
}

// dismissed waits for a byte from a pipe, or for the end of the pipe. It reports whether the byte is Clean.
// After Clean, the watchdog has nothing to do.
func dismissed(fd int) bool {
	// The read does not use Go's network poller. For the poller Go would start another thread, because the
	// initialization is bound to this thread. On one processor, the monitor of Go's scheduler also sleeps
	// during this system call.
	word := make([]byte, 1)
	for {
		n, err := syscall.Read(fd, word)
		if err != syscall.EINTR {
			return n == 1 && word[0] == Clean
		}
	}
}
