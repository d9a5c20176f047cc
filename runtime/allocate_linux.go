//go:build !portable

package runtime

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// available returns why this process cannot have n bytes more, or nil. It does not say
// that nobody else needs the memory: it is used as the bytes come.
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
	// The rest is for the kernel to say: limits of the process (setrlimit), and how it
	// commits memory (proc(5), overcommit_memory).
	probe, err := unix.Mmap(-1, 0, n+n/32+allocateSlack, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return fmt.Errorf("mmap: %w", err)
	}
	return unix.Munmap(probe)
}
