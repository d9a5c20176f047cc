package options

import "os"

// Crash ends this process as if it were killed.
func Crash() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {} // until the signal is delivered
}
