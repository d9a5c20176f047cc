//go:build !portable

package shm

import "golang.org/x/sys/unix"

// Commands of membarrier(2), Linux 4.16.
const (
	membarrierGlobalExpedited         = 1 << 1
	membarrierRegisterGlobalExpedited = 1 << 2
)

// registerBarrier registers this process, so that its processors execute a memory barrier whenever
// another rank calls barrier. It returns false if the kernel does not support such barriers.
func registerBarrier() bool {
	if _, _, errno := unix.Syscall(unix.SYS_MEMBARRIER, membarrierRegisterGlobalExpedited, 0, 0); errno != 0 {
		return false
	}
	return barrier()
}

// barrier makes every processor that runs a registered process, and this processor, execute a
// full memory barrier.
func barrier() bool {
	_, _, errno := unix.Syscall(unix.SYS_MEMBARRIER, membarrierGlobalExpedited, 0, 0)
	return errno == 0
}
