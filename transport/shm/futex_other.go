//go:build !linux || portable

package shm

import goruntime "runtime"

// There is no memory that processes share here, so nobody sleeps in it: ranks of one
// process sleep on channels.
func futexWait(*uint32, uint32, int64) {}

func futexWaitBlocking(*uint32, uint32, int64) {}

func futexWake(*uint32) {}

// schedYield gives the processor to other goroutines.
func schedYield() { goruntime.Gosched() }
