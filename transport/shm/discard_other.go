//go:build !linux || portable

package shm

// madvise is not called in this build.
var madvise func(b []byte, advice int) error

// discard sets b to zeros.
func discard(b []byte, _ func(b []byte, advice int) error) error {
	clear(b)
	return nil
}
