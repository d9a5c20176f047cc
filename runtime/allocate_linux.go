//go:build !portable

package runtime

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// fits returns nil if n bytes are within the memory of the machine (including swap) and within the limit of the
// process's cgroup, else the reason why they are not. It does not count the memory that is in use. It reserves nothing.
func fits(n int) error {
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
	return nil
}

// mappable returns nil if the heap of this process can grow by a message of n bytes, else the error of mmap(2). In
// mmap, the kernel checks the limits of the process (setrlimit) and the commit limit (proc(5), overcommit_memory).
// mappable reserves nothing: other processes may take the memory before the message arrives.
func mappable(n int) error {
	probe, err := unix.Mmap(-1, 0, n+n/32+allocateSlack, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return fmt.Errorf("mmap: %w", err)
	}
	return unix.Munmap(probe)
}
