package arena

import "syscall"

// Guard makes pages fault on use, and takes that back. It serves GORUN_DEBUG=1
// and works on memory that the process has mapped, never on Go's heap. b is
// whole pages.
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
