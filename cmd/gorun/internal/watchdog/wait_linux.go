package watchdog

import (
	"os"
	"os/signal"
	"syscall"
)

// Of the packages whose imports are initialised, the one with the first path is the next (Go
// specification, "Program initialization"): this one imports few, and so precedes those that take
// time. TestWatchdogWaitsBeforeInitialisation holds it.
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

// dismissed returns at the end of a pipe, or when there is a word in it, and reports whether that
// says that nothing is to be done.
func dismissed(fd int) bool {
	// Not by Go's poller: an initialisation is bound to its thread, and another one would be started
	// to wait. The monitor of Go's scheduler rests also during this call if there is one processor.
	word := make([]byte, 1)
	for {
		n, err := syscall.Read(fd, word)
		if err != syscall.EINTR {
			return n == 1 && word[0] == Clean
		}
	}
}
