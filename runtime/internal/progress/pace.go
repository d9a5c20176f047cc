package progress

import "time"

// Policy determines how long a waiting goroutine polls before it yields and sleeps.
type Policy struct {
	// Spin is how long the goroutine polls without a yield. 0 means that it yields from the
	// beginning.
	Spin time.Duration
	// Yield is how long the goroutine then polls with a yield after each burst, before it sleeps.
	Yield time.Duration
}

const (
	yieldsPerLook = 16 // number of yields per reading of the clock
	yieldsPerGo   = 8  // if Go has a single processor, one of yieldsPerGo yields lets other goroutines run in any case
)

// The smallest and the largest bound of a poller's sleep while frames are queued. Such a sleep needs
// a bound, because a peer need not ring when its lane has room for the frames (package transport).
const (
	napFirst = 50 * time.Microsecond
	NapLast  = time.Millisecond
)

// Pace decides what a polling goroutine does after a poll. At first the goroutine spins, then it
// yields, then it sleeps. When a poll finds something, the goroutine begins again with the spinning.
type Pace struct {
	policy   Policy
	turn     uint          // number of calls of Next
	spinning bool          // the goroutine still spins
	slept    bool          // no poll has found anything since the last Sleep
	nap      time.Duration // result of the next Nap
}

// Start is called after the first burst of a wait, if the burst has not ended the wait.
func (p *Pace) Start(policy Policy) {
	p.policy, p.slept = policy, false
	p.Resume()
}

// Change replaces the policy during a wait.
func (p *Pace) Change(policy Policy) {
	p.policy = policy
	p.spinning = p.spinning && policy.Spin > 0
}

// Resume is called after a Park. The goroutine then spins again. There is one exception: if it has
// slept in this wait and none of its own polls has found anything since, it does not spin.
func (p *Pace) Resume() {
	p.turn, p.nap = 0, napFirst
	p.spinning = p.policy.Spin > 0 && !p.slept
}

// Timed reports whether the next call of Next needs the argument since. If it does not, the caller
// need not read the clock. Reading the clock takes as long as handling an arrival.
func (p *Pace) Timed() bool {
	return p.spinning || !p.slept && (p.turn+1)%yieldsPerLook == 0
}

// Next returns the action after a Poll: Spin, Yield or Arm. found is true if the poll found
// something. The argument since is the time that has passed since the latest of these events: the
// wait began, a Park ended, a poll found something, or a yield let another process run
// (Share.Extends).
func (p *Pace) Next(found bool, since time.Duration) Action {
	p.turn++
	if found {
		p.slept, p.nap, since = false, napFirst, 0
		p.spinning = p.policy.Spin > 0
	}
	switch {
	case p.spinning:
		p.spinning = since < p.policy.Spin
		return Spin
	case !p.slept && (p.turn%yieldsPerLook != 0 || since < p.policy.Spin+p.policy.Yield):
		return Yield
	}
	return Arm
}

// Nap is called before each Sleep. It returns the longest time that the Sleep may take if frames
// are queued. That time doubles with each Sleep, up to NapLast. It is napFirst again after a poll
// that finds something and after a Park.
func (p *Pace) Nap() time.Duration {
	nap := p.nap
	p.slept, p.nap = true, min(2*p.nap, NapLast)
	return nap
}

// Wide reports whether this Yield has to let other goroutines run even if none is known to be runnable. lone is
// true if Go has a single processor. If Go has several processors, Wide returns false: another processor runs the other
// goroutines, or Go's scheduler runs them when it preempts the polling goroutine, after 10 to 20 ms. With several
// processors, each Gosched would wake a thread that looks for work, and often move the calling goroutine to this
// thread. The rank would then have two threads that compete with other processes.
func (p *Pace) Wide(lone bool) bool { return lone && p.turn%yieldsPerGo == 0 }
