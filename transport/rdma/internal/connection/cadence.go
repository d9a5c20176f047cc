package connection

import "time"

// Cadence decides how often the kernel is asked for the events of a polled device, because asking
// costs a system call. A round is one call of Due. While rounds follow each other closely, at
// least one of every Most rounds asks the kernel. While rounds are further apart than Period, each
// round asks the kernel. Rounds may be far apart for an adapter that is polled beside another
// adapter. When the rounds become rarer, at most glances further rounds do not ask the kernel.
type Cadence struct {
	Most   int
	Period time.Duration

	every, left int
	asked       time.Time
}

// glances is the number of rounds from one reading of the clock to the next. A reading takes as
// long as twenty rounds.
const glances = 8

// Due counts a round, and reports whether the kernel is to be asked for events in this round.
func (c *Cadence) Due() bool {
	if c.left > 1 {
		c.left--
		if c.left%glances != 0 || time.Since(c.asked) <= c.Period {
			return false
		}
	}
	now := time.Now()
	rounds := c.every - max(c.left-1, 0) // rounds since the kernel was last asked
	switch took := now.Sub(c.asked); {
	case rounds < 1 || took > c.Period*time.Duration(rounds):
		c.every = 1
	case took > c.Period:
		c.every = max(int(int64(rounds)*int64(c.Period)/int64(took)), 1)
	case took < c.Period/4:
		c.every = min(2*c.every, c.Most)
	}
	c.asked, c.left = now, c.every
	return true
}

// Reset makes the next call of Due return true.
func (c *Cadence) Reset() { c.left = 0 }
