package arena

import "syscall"

// Guard makes every access to the pages of b fault if closed is true, and makes the
// pages accessible again if it is false. It is used with GORUN_DEBUG=1. b must be whole
// pages that the process has mapped, never pages of Go's heap.
func Guard(b []byte, closed bool) error {
	prot := syscall.PROT_READ | syscall.PROT_WRITE
	if closed {
		prot = syscall.PROT_NONE
	}
	if len(b) == 0 {
		return nil
	}
	return syscall.Mprotect(b, prot)
}
