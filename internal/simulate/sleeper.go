package simulate

import (
	"time"

	"github.com/gorun-hpc/gorun/transport"
)

// sleeper is a rank's Sleeper in virtual time. With it, a slow rank wakes up late. Yield takes no virtual
// time, because it may be called while a sync.Mutex is held. A goroutine that waits for this mutex prevents
// the bubble's clock from advancing.
type sleeper struct {
	transport.ChannelSleeper
	node *node
}

var _ transport.Sleeper = (*sleeper)(nil)

// Sleep implements transport.Sleeper.
func (s *sleeper) Sleep(ticket uint32, nanos int64) {
	c := &s.node.net.conditions
	if c.EarlyWake > 0 && s.draw(time.Second).Seconds() < c.EarlyWake {
		return
	}
	if nanos > 0 {
		nanos += int64(s.draw(time.Microsecond)) // so that goroutines seldom wake up at the same time
	}
	s.ChannelSleeper.Sleep(ticket, nanos)
	if c.Slow[s.node.rank] {
		time.Sleep(1 + s.draw(c.Lag)) // virtual time
	}
}

// Idle implements transport.Sleeper.
func (s *sleeper) Idle(ticket uint32, nanos int64) { s.Sleep(ticket, nanos) }

// draw returns a random duration that is shorter than the argument most.
func (s *sleeper) draw(most time.Duration) time.Duration {
	s.node.net.mu.Lock()
	defer s.node.net.mu.Unlock()
	return Within(s.node.random, most)
}
