package connection

import "time"

// Cadence chooses the rounds of a device that is polled in which the kernel is asked for events,
// which costs a system call: at most one in Most of rounds that follow closely, and each where
// they are further apart than a Period, as those of an adapter that is polled beside another one. When
// rounds that followed closely do so no more, at most the next few do not ask.
type Cadence struct {
	Most   int
	Period time.Duration

	every, left int
	asked       time.Time
}

// glances is the number of rounds per reading of the clock: a reading takes as long as twenty rounds.
const glances = 8

// Due counts a round and reports whether it asks.
func (c *Cadence) Due() bool {
	if c.left > 1 {
		c.left--
		if c.left%glances != 0 || time.Since(c.asked) <= c.Period {
			return false
		}
	}
	now := time.Now()
	rounds := c.every - max(c.left-1, 0) // since it asked
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

// Reset makes the next round one that asks.
func (c *Cadence) Reset() { c.left = 0 }
