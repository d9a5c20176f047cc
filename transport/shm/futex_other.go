//go:build !linux || portable

package shm

import goruntime "runtime"

// Processes share no memory here, so no rank sleeps in it: ranks of one process sleep on
// channels.
func futexWait(*uint32, uint32, int64) {}

func futexWaitBlocking(*uint32, uint32, int64) {}

func futexWake(*uint32) {}

// schedYield gives the processor to other goroutines.
func schedYield() { goruntime.Gosched() }
