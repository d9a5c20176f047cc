package main

import (
	"os"
	"os/signal"
	"syscall"
)

// catchSignals returns the channel of all signals that gorun acts on or
// passes on. Those that gorun was started to ignore (nohup, a shell's
// background) stay ignored, by the ranks as well. SIGPIPE is caught so that
// writing to a closed pipe is an error, and the ranks can be ended.
func catchSignals() chan os.Signal {
	// Room for a burst; beyond it signals of one kind merge, as usual.
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
