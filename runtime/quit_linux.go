package runtime

import (
	"os"
	"os/signal"
	"syscall"
)

// notifyQuit sends the signal that asks for a report of the rank to a channel: SIGQUIT,
// that is Ctrl-\\.
func notifyQuit(to chan<- os.Signal) { signal.Notify(to, syscall.SIGQUIT) }

// quitAsGoDoes ends the process with the stacks of all goroutines.
func quitAsGoDoes() {
	signal.Reset(syscall.SIGQUIT)
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGQUIT)
}
