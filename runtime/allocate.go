package runtime

import (
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// How memory for long messages is got. Go ends the process when the system refuses
// memory, so that is found out before: what a peer announces must not end this rank.
const (
	// allocateFreely is the length in bytes up to which it is not: as much is in use for
	// other things anyway.
	allocateFreely = 64 << 20
	// allocateSlack is what the heap may take besides: it grows by 64 MiB, and describes
	// what it has grown by.
	allocateSlack = 128 << 20
)

// allocate returns n bytes for a message, or why this process cannot have them.
func allocate(n int) ([]byte, error) {
	if n > allocateFreely {
		if err := available(n); err != nil {
			return nil, err
		}
	}
	return make([]byte, n), nil
}

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
		return fmt.Errorf("the cgroup may have %d bytes of memory", most)
	}
	// The rest is for the kernel to say: limits of the process (setrlimit), and how it
	// commits memory (proc(5), overcommit_memory).
	probe, err := unix.Mmap(-1, 0, n+n/32+allocateSlack, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return fmt.Errorf("mmap: %w", err)
	}
	return unix.Munmap(probe)
}

// unlimited is the limit where there is none.
const unlimited = math.MaxUint64
