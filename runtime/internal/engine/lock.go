//go:build (amd64 || arm64) && !race

package engine

import (
	goruntime "runtime"
	"sync/atomic"
	"time"

	"github.com/gorun-hpc/gorun/internal/processor"
)

// mutex is a lock that is held for short times. It is released by a release store, not by a locked
// instruction. For every message, the store that publishes the message in a ring has to take the
// cache line from the reader. A locked instruction would wait for this store. In a measurement, this wait
// was half of a sender's time at full rate. However, Unlock wakes no goroutine: a goroutine
// that finds the lock taken yields and tries again. If goroutines wait, a holder that polls releases the
// lock for them about every microsecond (Engine.crowd).
//
// word is 0 when the lock is free, 1 when it is held.
type mutex struct{ word uint32 }

// After lockTries tries, a goroutine sleeps for lockRest between two tries, because the holder may have
// lost its processor.
const (
	lockTries = 200
	lockRest  = 20 * time.Microsecond
)

// TryLock takes the mutex if it is free.
func (m *mutex) TryLock() bool { return atomic.CompareAndSwapUint32(&m.word, 0, 1) }

// Lock takes the mutex.
func (m *mutex) Lock() {
	for tries := 0; !m.TryLock(); tries++ {
		if tries < lockTries {
			goruntime.Gosched()
		} else {
			time.Sleep(lockRest)
		}
	}
}

// Unlock releases the mutex.
func (m *mutex) Unlock() { processor.Store32(&m.word, 0) }
