//go:build !linux

package runtime

import "os"

// notifyQuit does nothing: on this system no signal asks for a report.
func notifyQuit(chan<- os.Signal) {}

func quitAsGoDoes() {}
