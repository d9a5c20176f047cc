//go:build !linux || portable

package shm

import goruntime "runtime"

// In this build processes share no memory, so no rank sleeps on a futex: ranks of one process
// sleep on channels.
func futexWait(*uint32, uint32, int64) {}

func futexWaitBlocking(*uint32, uint32, int64) {}

func futexWake(*uint32) {}

// schedYield yields the processor to other goroutines.
func schedYield() { goruntime.Gosched() }
