package arena

import "syscall"

// Guard closes or opens the pages of b. If closed is true, every later access to them faults. If
// closed is false, they are accessible again. Guard is used with GORUN_DEBUG=1. b must be whole pages
// that the process has mapped, never pages of Go's heap.
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
