package transport

import "sync/atomic"

// Dozer is implemented by network transports in which a goroutine of the rank can sleep in the kernel. If no goroutine
// of the rank does so, a goroutine of the network transport sleeps in the kernel while the transport is armed, and
// rings the Sleeper. That costs two switches between goroutines, and often between threads, for each sleep.
type Dozer interface {
	// Doze sleeps until the transport has work for Poll, until Rouse, or for nanos nanoseconds. If nanos is negative,
	// there is no time limit. Doze may return early. It returns false at once if it cannot sleep. While it sleeps,
	// Go's scheduler may use the P for other goroutines. Doze is called after Arm has returned true.
	Doze(nanos int64) bool
	// Rouse ends the current Doze, or the next Doze if no goroutine is in Doze.
	Rouse()
}

// NetworkSleeper is the Sleeper of a rank to which no other process of the node sends messages. After Attend, one of
// the goroutines that sleep waits in the kernel for arrivals from the network. The zero value is ready for use. A
// NetworkSleeper must not be copied.
type NetworkSleeper struct {
	ChannelSleeper
	network Dozer
	// dozing is true while a goroutine is in Doze. Further goroutines that sleep wait on the channel. Nobody notices
	// arrivals for them after the end of the Doze. Therefore the goroutine that was in Doze wakes them after Doze.
	dozing atomic.Bool
}

var _ Sleeper = (*NetworkSleeper)(nil)

// Attend makes sleeping goroutines, one at a time, wait in d.Doze. It is called before the first Sleep or Ring.
func (s *NetworkSleeper) Attend(d Dozer) { s.network = d }

// Sleep implements Sleeper. No Ring is lost: Sleep sets dozing before it reads the generation, and Ring changes the
// generation before it reads dozing.
func (s *NetworkSleeper) Sleep(ticket uint32, nanos int64) {
	if s.network == nil || !s.dozing.CompareAndSwap(false, true) {
		s.ChannelSleeper.Sleep(ticket, nanos)
		return
	}
	dozed := s.Prepare() != ticket || s.network.Doze(nanos)
	s.dozing.Store(false)
	if !dozed {
		s.ChannelSleeper.Sleep(ticket, nanos)
		return
	}
	// A goroutine that has found dozing set and is not on the channel yet also returns at once, because Ring changes the
	// generation.
	s.ChannelSleeper.Ring()
}

// Idle implements Sleeper. It is the same as Sleep, because a sleeping goroutine holds no processor of Go's scheduler.
func (s *NetworkSleeper) Idle(ticket uint32, nanos int64) { s.Sleep(ticket, nanos) }

// Ring implements Sleeper.
func (s *NetworkSleeper) Ring() {
	s.ChannelSleeper.Ring()
	if s.dozing.Load() {
		s.network.Rouse()
	}
}
