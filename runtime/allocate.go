package runtime

import (
	"math"
)

// Allocation of memory for long messages. Go ends the process when the system refuses
// memory, so the limits are checked first: a length that a peer announces must not end this
// rank.
const (
	// allocateFreely is the length in bytes up to which nothing is checked: the process
	// uses as much for other purposes anyway.
	allocateFreely = 64 << 20
	// allocateSlack is what the heap may take besides: it grows by 64 MiB, and describes
	// what it has grown by.
	allocateSlack = 128 << 20
)

// allocate returns n bytes for a message, or why this process cannot have them.
func allocate(n int) ([]byte, error) {
	if n > allocateFreely {
		if err := available(n); err != nil {
			return nil, err
		}
	}
	return make([]byte, n), nil
}

// unlimited is the limit where there is none.
const unlimited = math.MaxUint64
