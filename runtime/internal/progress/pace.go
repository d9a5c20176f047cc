package progress

import "time"

// Policy says how long a goroutine that waits polls before it gives way.
type Policy struct {
	// Spin is how long it polls without giving way at all. 0 = not at all.
	Spin time.Duration
	// Yield is how long after that it polls between two Yields. After it, it sleeps.
	Yield time.Duration
}

const (
	yieldsPerLook = 16 // yields between two looks at the clock
	yieldsPerGo   = 8  // yields between two that let other goroutines run for sure
)

// Sleeps of a poller that has frames to drive, for which no peer rings.
const (
	napFirst = 50 * time.Microsecond
	NapLast  = time.Millisecond
)

// Pace is how a goroutine that polls gives way more and more: it spins, then yields, then
// sleeps, and starts anew when a poll finds something.
type Pace struct {
	policy   Policy
	turn     uint
	spinning bool
	slept    bool // and has found nothing since
	nap      time.Duration
}

// Start begins a wait.
func (p *Pace) Start(policy Policy) {
	p.policy, p.slept = policy, false
	p.Resume()
}

// Resume goes on after a Park.
func (p *Pace) Resume() {
	p.turn, p.nap = 0, napFirst
	p.spinning = p.policy.Spin > 0 && !p.slept
}

// Timed reports whether Next needs the time: to read a clock takes as long as an arrival.
func (p *Pace) Timed() bool {
	return p.spinning || !p.slept && (p.turn+1)%yieldsPerLook == 0
}

// Next says how to go on after a Poll: Spin, Yield or Arm. found says whether the poll
// found something, since how long ago the wait began, resumed or found something.
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

// Nap is how long the Sleep that follows lasts at most while frames wait to be driven.
func (p *Pace) Nap() time.Duration {
	nap := p.nap
	p.slept, p.nap = true, min(2*p.nap, NapLast)
	return nap
}

// Wide reports whether a Yield lets other goroutines run although nobody is known to want
// to.
func (p *Pace) Wide() bool { return p.turn%yieldsPerGo == 0 }
