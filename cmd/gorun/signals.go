package main

import (
	"os"
	"os/signal"
	"syscall"
)

// catchSignals returns the channel of all signals that gorun acts on or
// passes on. A signal that was ignored when gorun was started (by nohup, or by
// a shell for a background job) stays ignored, in the ranks as well. SIGPIPE is
// caught so that a write to a closed pipe returns an error instead of killing
// gorun, which then ends the ranks.
func catchSignals() chan os.Signal {
	// The buffer takes a burst; package signal drops signals for which it has no room.
	c := make(chan os.Signal, 64)
	for _, sig := range []os.Signal{
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
		syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGPIPE,
	} {
		if !signal.Ignored(sig) {
			signal.Notify(c, sig)
		}
	}
	return c
}
