package runtime

import (
	"math"
)

// Limits for the allocation of memory for long messages and Buffers. Go ends the process when the operating
// system refuses memory. A length that a peer announces must not end this rank, so allocate checks
// the limits first.
const (
	// allocateFreely is the length in bytes up to which no limit is checked. The checks are system calls, and it is
	// unlikely that so little memory is refused.
	allocateFreely = 64 << 20
	// allocateSlack is the number of bytes that the heap may need beyond the message: the heap grows
	// by multiples of 64 MiB, and needs metadata for the added memory.
	allocateSlack = 128 << 20
)

// allocate returns n bytes for a message, or an error with the reason why this process cannot have
// them.
func allocate(n int) ([]byte, error) {
	if n > allocateFreely {
		err := fits(n)
		if err == nil {
			err = mappable(n) // only now, because mmap fills the memory at once if the program has called mlockall(2)
		}
		if err != nil {
			return nil, err
		}
	}
	return make([]byte, n), nil
}

// longFits is fits for the memory of a Buffer or of a part of a Shared. It checks only lengths above allocateFreely.
func longFits(n int) error {
	if n <= allocateFreely {
		return nil
	}
	return fits(n)
}

// unlimited is the value of a limit that is not set.
const unlimited = math.MaxUint64
