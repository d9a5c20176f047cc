//go:build !linux

package runtime

import "os"

// No signal asks for a report here.
func notifyQuit(chan<- os.Signal) {}

func quitAsGoDoes() {}
