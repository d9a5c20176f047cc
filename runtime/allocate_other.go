//go:build !linux || portable

package runtime

import "fmt"

// fits returns an error for a number of bytes that exceeds the memory of any machine. It does not check the memory of
// the host. For a message this check is not needed: all ranks are in this process, so an announced length is the length
// of a message that is already in the memory of this process.
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
