//go:build !linux || portable

package runtime

import "fmt"

// fits returns an error for a number of bytes that exceeds the memory of any machine. It does not check the memory of
// the host. A message needs no such check: all ranks are in this process, so the memory of this process already
// contains a message of the announced length.
func fits(n int) error {
	if uint64(n) > memoryMost {
		return fmt.Errorf("no machine has %d bytes of memory", n)
	}
	return nil
}

// mappable returns nil, see fits.
func mappable(int) error { return nil }

// memoryMost is a number of bytes that exceeds the memory of any machine.
const memoryMost = 1 << 46
