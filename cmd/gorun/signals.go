package main

import (
	"os"
	"os/signal"
	"syscall"
)

// catchSignals returns the channel of all signals that gorun acts on or passes on. A signal that was ignored
// when gorun was started (by nohup, or by a shell for a background job) stays ignored, also in the ranks.
// SIGPIPE is caught so that a write to a closed pipe does not kill gorun. The write returns an error, and gorun
// then ends the ranks.
func catchSignals() chan os.Signal {
	// The buffer holds a burst of signals, because package signal drops signals for which the channel has no
	// room.
	c := make(chan os.Signal, 64)
	notify(c, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
		syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGPIPE)
	return c
}

// notify relays to c those of the signals that were not ignored when gorun was started.
func notify(c chan<- os.Signal, signals ...os.Signal) {
	for _, sig := range signals {
		if !signal.Ignored(sig) {
			signal.Notify(c, sig)
		}
	}
}
