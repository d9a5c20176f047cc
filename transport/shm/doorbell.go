package shm

import (
	"math"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/internal/processor"
	"github.com/gorun-hpc/gorun/transport"
)

// doorbell is the Sleeper of a rank that is a process: a futex in its header.
// The word counts the rings. Beside it stands the number of sleepers, so that a
// ring which finds none costs no system call: the sleeper counts itself before
// the kernel compares the word, the ringer counts the ring before it looks.
//
// yielding is 1 while the rank has offered its processor to others. Peers read it (absent).
type doorbell struct {
	word, sleepers *uint32
	yielding       *uint64
}

var _ transport.Sleeper = doorbell{}

func newDoorbell(control segment) doorbell {
	return doorbell{control.word32(offDoorbell), control.word32(offSleepers), control.word(offYielding)}
}

// Yield implements transport.Sleeper.
func (d doorbell) Yield() {
	processor.Put64(d.yielding, 1)
	schedYield()
	processor.Put64(d.yielding, 0)
}

// absent reports whether the rank has offered its processor to others and has not come back. Of a
// process with several goroutines some may run nevertheless.
func (d doorbell) absent() bool {
	return atomic.LoadUint64(d.yielding) != 0 || atomic.LoadUint32(d.sleepers) != 0
}

// Prepare implements transport.Sleeper.
func (d doorbell) Prepare() uint32 { return atomic.LoadUint32(d.word) }

// Sleep implements transport.Sleeper.
func (d doorbell) Sleep(ticket uint32, nanos int64) { d.sleep(futexWait, ticket, nanos) }

// Idle implements transport.Sleeper.
func (d doorbell) Idle(ticket uint32, nanos int64) { d.sleep(futexWaitBlocking, ticket, nanos) }

// sleep is Sleep by one of the two ways to wait.
func (d doorbell) sleep(wait func(word *uint32, v uint32, nanos int64), ticket uint32, nanos int64) {
	atomic.AddUint32(d.sleepers, 1)
	wait(d.word, ticket, nanos)
	atomic.AddUint32(d.sleepers, math.MaxUint32)
}

// Ring implements transport.Sleeper.
func (d doorbell) Ring() {
	atomic.AddUint32(d.word, 1)
	if atomic.LoadUint32(d.sleepers) != 0 {
		futexWake(d.word)
	}
}

// futexSleeper is the doorbell of a process that others ring and that has connections,
// too. What makes it a type of its own is that giving Go's processor away at once
// wakes a thread, for nothing where no goroutine has anything to do.
type futexSleeper struct{ doorbell }

var _ transport.Sleeper = futexSleeper{}

// Sleep implements transport.Sleeper.
func (s futexSleeper) Sleep(ticket uint32, nanos int64) { s.Idle(ticket, nanos) }

// channelSleeper is the Sleeper of a process that no other rings. A goroutine that sleeps
// in a futex holds Go's scheduling context (P) until the scheduler retakes it, after 20 us
// to 10 ms. With only one P, no other goroutine could meanwhile wait for arrivals over the
// network or run after they wake it. A goroutine that parks on a channel releases its P at
// once.
type channelSleeper struct{ transport.ChannelSleeper }

var _ transport.Sleeper = (*channelSleeper)(nil)

// Yield implements transport.Sleeper.
func (*channelSleeper) Yield() { schedYield() }
