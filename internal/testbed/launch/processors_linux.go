package launch

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Processors waits until no other test on this machine that calls it runs, and keeps
// them waiting until the end of this one. Tests call it that run jobs with -bind-to
// core, which take processors for themselves.
func Processors(t *testing.T) {
	t.Helper()
	f, err := os.Open("/sys/devices/system/cpu")
	if err != nil {
		return // nor does gorun find processors to take
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
