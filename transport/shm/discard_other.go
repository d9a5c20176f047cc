//go:build !linux || portable

package shm

// madvise is not called.
var madvise func(b []byte, advice int) error

// discard makes zeros of b.
func discard(b []byte, _ func(b []byte, advice int) error) error {
	clear(b)
	return nil
}
