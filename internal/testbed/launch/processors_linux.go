package launch

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Processors acquires a lock of this machine, and releases the lock at the end of the test. Tests that run
// jobs with -bind-to core call Processors, because these jobs reserve processors. Because of the lock, such
// tests run one after the other.
func Processors(t *testing.T) {
	t.Helper()
	f, err := os.Open("/sys/devices/system/cpu")
	if err != nil {
		return // gorun reserves no processors if this directory does not exist
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
