package main

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// interruptError is the error of an action that was ended because gorun has received a signal.
type interruptError struct{ signal unix.Signal }

// Error implements error.
func (e *interruptError) Error() string { return "interrupted by " + unix.SignalName(e.signal) }

// beforeStart returns the error of gorun if the signal has come before the ranks were started.
func (e *interruptError) beforeStart() error {
	return exitErrorf(exitSignalOffset+int(e.signal), "%w before the ranks were started", e)
}

// catchEnd returns a channel of the signals that ask gorun to end, for the time before the ranks run. A SIGHUP or
// SIGINT that was ignored when gorun was started stays ignored. After release, the other signals have their default
// action again.
func catchEnd() (signals chan os.Signal, release func()) {
	signals = make(chan os.Signal, 1)
	notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	return signals, func() { signal.Stop(signals) }
}

// reachHosts runs startHosts. If gorun receives a signal that asks it to end, reachHosts gives up all hosts, so that no
// process of a command remains. A second signal kills gorun.
func (j *job) reachHosts(secret [32]byte) error {
	signals, release := catchEnd()
	defer release()
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err = j.startHosts(secret)
	}()
	select {
	case <-ended:
		return err
	case s := <-signals:
		release()
		why := &interruptError{s.(unix.Signal)}
		j.failures.interrupt(why)
		<-ended
		return why.beforeStart()
	}
}
