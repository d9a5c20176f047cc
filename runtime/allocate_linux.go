//go:build !portable

package runtime

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// available returns nil if no limit forbids this process to allocate n more bytes, else the reason why it cannot.
// It reserves nothing: other processes may take the memory before the message arrives.
func available(n int) error {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return fmt.Errorf("sysinfo: %w", err)
	}
	unit := uint64(info.Unit)
	if all := (info.Totalram + info.Totalswap) * unit; uint64(n) > all {
		return fmt.Errorf("the machine has %d bytes of memory", all)
	}
	if most := cgroupMemory(os.DirFS("/")); uint64(n) > most {
		return fmt.Errorf("the limit of the cgroup is %d bytes of memory", most)
	}
	// The remaining limits are checked by the kernel in mmap: the limits of the process (setrlimit)
	// and the commit limit (proc(5), overcommit_memory).
	probe, err := unix.Mmap(-1, 0, n+n/32+allocateSlack, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return fmt.Errorf("mmap: %w", err)
	}
	return unix.Munmap(probe)
}
