package launch

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Processors acquires a lock of this machine, and releases it at the end of the test. So only one test
// at a time runs after calling it. Tests that run jobs with -bind-to core call it, because these jobs
// reserve processors.
func Processors(t *testing.T) {
	t.Helper()
	f, err := os.Open("/sys/devices/system/cpu")
	if err != nil {
		return // without this directory, gorun reserves no processors either
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
