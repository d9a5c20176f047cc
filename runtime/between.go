package runtime

import (
	"fmt"
	"os"
	"os/signal"
	"time"
)

// heedQuit handles SIGQUIT while a process leaves one World and makes the next, until the caller calls
// stop. Between the two Worlds, no World handles the signal, so without heedQuit the signal would end
// the process. In a Local heedQuit does nothing.
func (w *World) heedQuit() (stop func()) {
	if w.local != nil {
		return func() {}
	}
	quit, ended, served := make(chan os.Signal, 1), make(chan struct{}), make(chan struct{})
	notifyQuit(quit)
	go func() {
		defer close(served)
		var last time.Time
		for {
			select {
			case <-ended:
				return
			case <-quit:
				if time.Since(last) < quitAgain {
					quitAsGoDoes()
				}
				last = time.Now()
				fmt.Fprintf(os.Stderr, "rank %d: process %d waits for the other ranks, because a lost rank was started again\n", w.Rank(), os.Getpid())
			}
		}
	}()
	return func() {
		signal.Stop(quit)
		close(ended)
		<-served
	}
}
