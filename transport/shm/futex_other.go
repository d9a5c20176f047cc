//go:build !linux || portable

package shm

import goruntime "runtime"

// futexWait is never called: in this build processes share no memory, so ranks sleep on channels
// and not on a futex.
func futexWait(*uint32, uint32, int64) {}

func futexWaitBlocking(*uint32, uint32, int64) {}

func futexWake(*uint32) {}

// schedYield yields the processor to other goroutines.
func schedYield() { goruntime.Gosched() }
