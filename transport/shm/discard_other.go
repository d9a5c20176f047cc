//go:build !linux || portable

package shm

func advise([]byte) error { return nil }

// discard sets b to zeros.
func discard(b []byte, _ func(b []byte) error) error {
	clear(b)
	return nil
}
