package runtime

import (
	"os"
	"os/signal"
	"syscall"
)

// notifyQuit relays SIGQUIT (Ctrl-\), the signal that asks for a report of the rank, to a channel.
func notifyQuit(to chan<- os.Signal) { signal.Notify(to, syscall.SIGQUIT) }

// quitAsGoDoes restores Go's own handling of SIGQUIT and raises it: the process prints the stacks
// of all goroutines and ends.
func quitAsGoDoes() {
	signal.Reset(syscall.SIGQUIT)
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGQUIT)
}
