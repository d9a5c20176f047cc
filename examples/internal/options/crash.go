package options

import "os"

// Crash kills this process.
func Crash() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {} // until the signal is delivered
}
