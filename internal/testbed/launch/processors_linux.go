package launch

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Processors waits until no other test on this machine that calls it runs, and blocks those
// tests until the end of this one. Tests that run jobs with -bind-to core, which reserve
// processors, call it.
func Processors(t *testing.T) {
	t.Helper()
	f, err := os.Open("/sys/devices/system/cpu")
	if err != nil {
		return // gorun finds no processors to reserve either
	}
	t.Cleanup(func() { _ = f.Close() })
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if err == nil {
			return
		}
		if !errors.Is(err, unix.EINTR) {
			t.Fatalf("lock %s: %v", f.Name(), err)
		}
	}
}
