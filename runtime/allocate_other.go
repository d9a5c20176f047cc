//go:build !linux || portable

package runtime

import "fmt"

// available returns why this process cannot have n bytes more, or nil. The memory of the
// machine is not checked here: all ranks are in this process, so every message is in its
// memory already.
func available(n int) error {
	if uint64(n) > memoryMost {
		return fmt.Errorf("no machine has %d bytes of memory", n)
	}
	return nil
}

// memoryMost is more than any machine has.
const memoryMost = 1 << 46
