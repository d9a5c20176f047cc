package shm

import (
	"math"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/internal/processor"
	"github.com/gorun-hpc/gorun/transport"
)

// doorbell is the Sleeper of a rank that is a process: a futex in the rank's header. word counts
// the rings. sleepers counts the goroutines that sleep, so that Ring needs no system call if no
// goroutine sleeps. No wake-up is lost, because a sleeper increments sleepers before the kernel
// compares word, and Ring increments word before it reads sleepers.
//
// yielding is 1 while the rank has yielded its processor to other processes. Peers read yielding
// (method absent).
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

// absent reports whether a goroutine of the rank has yielded its processor or sleeps. Even if
// absent returns true, other goroutines of the rank's process may run.
func (d doorbell) absent() bool {
	return atomic.LoadUint64(d.yielding) != 0 || atomic.LoadUint32(d.sleepers) != 0
}

// Prepare implements transport.Sleeper.
func (d doorbell) Prepare() uint32 { return atomic.LoadUint32(d.word) }

// Sleep implements transport.Sleeper.
func (d doorbell) Sleep(ticket uint32, nanos int64) { d.sleep(futexWait, ticket, nanos) }

// Idle implements transport.Sleeper.
func (d doorbell) Idle(ticket uint32, nanos int64) { d.sleep(futexWaitBlocking, ticket, nanos) }

// sleep implements Sleep and Idle. They differ only in the function wait.
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

// futexSleeper is the doorbell of a process that other processes ring and that also has network
// connections. Its Sleep releases the P of Go's scheduler at once, so that the goroutines that
// serve the connections can run. The Sleep of doorbell keeps the P until the scheduler retakes it,
// because releasing the P wakes a thread. Waking a thread is useless if no other goroutine can run.
type futexSleeper struct{ doorbell }

var _ transport.Sleeper = futexSleeper{}

// Sleep implements transport.Sleeper.
func (s futexSleeper) Sleep(ticket uint32, nanos int64) { s.Idle(ticket, nanos) }

// aloneSleeper is the Sleeper of a process that no other process rings. A goroutine in the Sleep of doorbell holds
// Go's scheduling context (P) until the scheduler retakes it, after 20 us to 10 ms. If there is only one P, no other
// goroutine can run during this time. A goroutine that sleeps in a NetworkSleeper releases its P at once.
type aloneSleeper struct{ transport.NetworkSleeper }

var _ transport.Sleeper = (*aloneSleeper)(nil)

// Yield implements transport.Sleeper.
func (*aloneSleeper) Yield() { schedYield() }
