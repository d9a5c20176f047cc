package verbstest

import (
	"os"
	goruntime "runtime"
	"testing"
	"time"
)

// testNothingIsLeft connects, exchanges messages, arms queues and closes the adapters several
// times. It checks that the process then has no more goroutines or descriptors than after the first
// time.
func testNothingIsLeft(t *testing.T, newHarness func(tb testing.TB) Harness) {
	t.Helper()
	live := func(t *testing.T) {
		t.Helper()
		r := newRig(t, newHarness(t))
		r.talk(r.connected())
		r.connect(r.a.endpoint(), r.p.listen().Address(), nil)
		r.p.request()
		r.a.receives.Arm(func() {})
		r.p.requests.Arm(func() {})
	}
	t.Run("first", live)
	goroutines, descriptors := goruntime.NumGoroutine(), countDescriptors()
	for range 3 {
		t.Run("again", live)
	}
	// The loop waits because a goroutine that has finished its work may still need some time to end.
	for end := time.Now().Add(patience); goruntime.NumGoroutine() > goroutines || countDescriptors() > descriptors; goruntime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines and %d descriptors, before %d and %d", goruntime.NumGoroutine(), countDescriptors(), goroutines, descriptors)
		}
	}
}

// countDescriptors returns the number of open descriptors of the process. It returns 0 if the
// operating system does not list them.
func countDescriptors() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}
