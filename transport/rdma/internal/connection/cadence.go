package connection

import "time"

// Cadence chooses the rounds of a device that is polled in which the kernel is asked for events,
// which costs a system call: at most one in Most of rounds that follow closely, and each where
// they are further apart than a Period, as those of an adapter that is polled beside another one.
type Cadence struct {
	Most   int
	Period time.Duration

	every, left int
	asked       time.Time
}

// Due counts a round and reports whether it asks. The clock is read in those that do.
func (c *Cadence) Due() bool {
	if c.left > 1 {
		c.left--
		return false
	}
	now := time.Now()
	switch took := now.Sub(c.asked); {
	case c.every == 0 || took > c.Period*time.Duration(c.every):
		c.every = 1
	case took > c.Period:
		c.every = max(int(int64(c.every)*int64(c.Period)/int64(took)), 1)
	case took < c.Period/4:
		c.every = min(2*c.every, c.Most)
	}
	c.asked, c.left = now, c.every
	return true
}

// Reset makes the next round one that asks.
func (c *Cadence) Reset() { c.left = 0 }
