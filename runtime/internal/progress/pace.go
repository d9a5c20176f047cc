package progress

import "time"

// Policy says how long a waiting goroutine polls before it yields and sleeps.
type Policy struct {
	// Spin is how long it polls without a yield. 0 means that it does not.
	Spin time.Duration
	// Yield is how long it then polls with a Yield after each poll, before it sleeps.
	Yield time.Duration
}

const (
	yieldsPerLook = 16 // yields between two readings of the clock
	yieldsPerGo   = 8  // each eighth yield lets other goroutines run in any case
)

// Lengths of the sleeps of a poller with queued frames. No peer rings when these can be sent.
const (
	napFirst = 50 * time.Microsecond
	NapLast  = time.Millisecond
)

// Pace decides what a polling goroutine does after a poll: at first it spins, then it
// yields, then it sleeps. It starts again when a poll finds something.
type Pace struct {
	policy   Policy
	turn     uint
	spinning bool
	slept    bool // no poll has found anything since the last Sleep
	nap      time.Duration
}

// Start begins a wait.
func (p *Pace) Start(policy Policy) {
	p.policy, p.slept = policy, false
	p.Resume()
}

// Resume continues after a Park.
func (p *Pace) Resume() {
	p.turn, p.nap = 0, napFirst
	p.spinning = p.policy.Spin > 0 && !p.slept
}

// Timed reports whether Next needs the time. Reading a clock takes as long as handling an
// arrival.
func (p *Pace) Timed() bool {
	return p.spinning || !p.slept && (p.turn+1)%yieldsPerLook == 0
}

// Next returns what follows a Poll: Spin, Yield or Arm. found says whether the poll found
// something. since is the time since the wait began, was resumed or found something.
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

// Nap returns the longest time of the next Sleep while frames are queued. It doubles from
// one Sleep to the next.
func (p *Pace) Nap() time.Duration {
	nap := p.nap
	p.slept, p.nap = true, min(2*p.nap, NapLast)
	return nap
}

// Wide reports whether a Yield lets other goroutines run even if none is known to be
// runnable.
func (p *Pace) Wide() bool { return p.turn%yieldsPerGo == 0 }
