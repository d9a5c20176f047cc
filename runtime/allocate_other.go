//go:build !linux || portable

package runtime

import "fmt"

// available returns why this process cannot have n bytes more, or nil. What the system
// has is not known here: a message is in this process's memory already, since all ranks
// are.
func available(n int) error {
	if uint64(n) > memoryMost {
		return fmt.Errorf("no machine has %d bytes of memory", n)
	}
	return nil
}

// memoryMost is more than any machine has.
const memoryMost = 1 << 46
