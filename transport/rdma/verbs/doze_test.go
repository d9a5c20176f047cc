package verbs_test

import (
	"context"
	goruntime "runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// dozers returns the same play as sleepers, but the adapter is attended, and the queue is armed: ring is called when
// the queue has an entry.
func dozers(t *testing.T, ring func()) *play {
	t.Helper()
	p := sleepers(t)
	p.adapter.Attend(true)
	p.True(p.queue.Arm(ring))
	return p
}

// doze starts a Doze and returns the channel for its result.
func doze(a *verbs.Adapter, until time.Time) chan bool {
	result := make(chan bool, 1)
	go func() { result <- a.Doze(until) }()
	return result
}

// TestDozeSleepsInTheKernel checks that Arm of an attended adapter starts no goroutine that sleeps in the kernel, and
// that Doze sleeps there. An entry that another goroutine makes causes a call of ring, which ends the Doze.
func TestDozeSleepsInTheKernel(t *testing.T) {
	var p *play
	p = dozers(t, func() { p.adapter.Rouse() })
	at := time.Now().Add(time.Hour)
	result := doze(p.adapter, at)
	p.Equal(at, <-p.stage.asleep)
	p.False(p.adapter.Doze(time.Time{}), "only one goroutine sleeps in the kernel")
	p.post()
	p.True(<-result)
	p.Equal(1, p.queue.Len())
}

// TestDozeEndsAtTheEarliestDeadline checks that a Doze knows the deadline of a connection attempt, also of one that
// begins during the Doze.
func TestDozeEndsAtTheEarliestDeadline(t *testing.T) {
	p := dozers(t, func() {})
	result := doze(p.adapter, time.Time{})
	p.Zero(<-p.stage.asleep)
	ep, _ := p.make(nil)
	p.NoError(ep.Connect(remote, verbs.ConnectOptions{Timeout: time.Hour}))
	p.True(<-result)
	for _, until := range []time.Time{{}, time.Now().Add(2 * time.Hour)} {
		result = doze(p.adapter, until)
		p.WithinDuration(time.Now().Add(time.Hour), <-p.stage.asleep, time.Minute)
		p.adapter.Rouse()
		p.True(<-result)
	}
	soon := time.Now().Add(time.Minute)
	result = doze(p.adapter, soon)
	p.Equal(soon, <-p.stage.asleep)
	p.adapter.Rouse()
	p.True(<-result)
}

// TestDozeOfABusyDevice checks that Doze returns at once while the device has work for Poll.
func TestDozeOfABusyDevice(t *testing.T) {
	p := dozers(t, func() {})
	p.stage.busy = true
	p.True(p.adapter.Doze(time.Time{})) // a sleep would wait for a receiver of its deadline
}

// TestArmDuringADoze checks that a Doze calls Device.Idle again if a queue is armed during the Doze. Since the Arm,
// the device may have work that does not end its Sleep. The Doze continues if there is no work. Otherwise two
// goroutines that arm the queue and sleep would wake each other for ever.
func TestArmDuringADoze(t *testing.T) {
	p := dozers(t, func() {})
	result := doze(p.adapter, time.Time{})
	rearm := func() {
		<-p.stage.asleep
		p.queue.Disarm()
		p.True(p.queue.Arm(func() {}))
	}
	rearm()
	rearm()
	<-p.stage.asleep
	p.Empty(result)
	p.adapter.Rouse() // is not lost beside an Arm
	p.queue.Disarm()
	p.True(p.queue.Arm(func() {}))
	p.True(<-result)
	result = doze(p.adapter, time.Time{})
	p.within(func() { p.stage.progress = func() (int, error) { return 1, nil } })
	rearm()
	p.True(<-result)
}

// TestAttendedAdapterHasNoWait checks that Wait and Doze exclude each other.
func TestAttendedAdapterHasNoWait(t *testing.T) {
	p := dozers(t, func() {})
	p.ErrorIs(p.queue.Wait(context.Background(), 1), verbs.ErrInvalidState)
	p.queue.Disarm()
	p.adapter.Attend(false)
	p.False(p.adapter.Doze(time.Time{}))
	p.True(p.queue.Arm(func() {}))
	<-p.stage.asleep // the goroutine of Arm
}

// TestWaiterTakesTheDozersPlace has a goroutine call Wait. The goroutine parks, because another goroutine is in Doze.
// At the end of the Doze, the parked goroutine has to sleep in the kernel.
func TestWaiterTakesTheDozersPlace(t *testing.T) {
	p := dozers(t, func() {})
	result := doze(p.adapter, time.Time{})
	<-p.stage.asleep
	p.queue.Disarm()
	p.adapter.Attend(false)
	waited := wait(p.queue, 1)
	for verbs.Parked(p.adapter) == 0 {
		goruntime.Gosched()
	}
	p.adapter.Rouse()
	p.True(<-result)
	select {
	case <-p.stage.asleep:
	case <-time.After(patience):
		t.Fatal("nobody sleeps in the kernel")
	}
	p.post()
	p.NoError(<-waited)
}

// TestCloseEndsADoze checks that Close waits for the end of a Doze, and that later calls do not sleep.
func TestCloseEndsADoze(t *testing.T) {
	p := dozers(t, func() {})
	var left atomic.Bool
	p.stage.leaves = func() {
		for range 1000 { // so that a Close that does not wait is faster
			goruntime.Gosched()
		}
		left.Store(true)
	}
	result := doze(p.adapter, time.Time{})
	<-p.stage.asleep
	p.NoError(p.adapter.Close())
	p.True(left.Load())
	p.True(<-result)
	p.False(p.adapter.Doze(time.Time{}))
	p.adapter.Rouse()
}
