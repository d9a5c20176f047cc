package main

import (
	"os"
	"os/signal"
	"syscall"
)

// catchSignals returns the channel of all signals that gorun acts on or passes on. If SIGHUP or
// SIGINT was ignored when gorun was started (by nohup, or by a shell for a background job), it stays ignored, also
// in the ranks; Go does not report that other signals were ignored. SIGPIPE is caught so that gorun is not killed
// when the reader of its output has gone: the write returns an error, and gorun then ends the ranks.
func catchSignals() chan os.Signal {
	// The buffer holds a burst of signals, because package signal drops signals for which the channel has no
	// room.
	c := make(chan os.Signal, 64)
	notify(c, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
		syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGPIPE)
	return c
}

// notify relays to c the signals, except SIGHUP and SIGINT if they were ignored when gorun was started.
func notify(c chan<- os.Signal, signals ...os.Signal) {
	for _, sig := range signals {
		if !signal.Ignored(sig) {
			signal.Notify(c, sig)
		}
	}
}
