//go:build (amd64 || arm64) && !race

package engine

import (
	goruntime "runtime"
	"sync/atomic"
	"time"

	"github.com/gorun-hpc/gorun/internal/processor"
)

// mutex is mutual exclusion for short holds. It is given up by a release store,
// not by a locked instruction: that would wait until the message just published
// in a ring has taken its line from the reader, and would do so for every
// message (half of a sender's time at full rate, measured). The price is that
// nobody is woken: who finds it taken gives way and tries again. The holder lets
// go for others every microsecond or so (Engine.crowd).
//
// The word is 0 when free, 1 when held.
type mutex struct{ word uint32 }

// Tries of a goroutine before it rests between them, and for how long: the
// holder may have lost its processor.
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

// Unlock gives the mutex up.
func (m *mutex) Unlock() { processor.Store32(&m.word, 0) }
