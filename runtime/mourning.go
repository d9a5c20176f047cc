package runtime

import (
	"slices"
	"sync"
)

// mourning belongs to a communicator. It holds the lost members whose loss this rank has
// acknowledged (Ack), and the number of calls of Agree and Shrink that this rank has begun.
type mourning struct {
	// mu guards the fields. No other lock is taken while mu is held.
	mu           sync.Mutex
	acknowledged []int // world ranks, ascending
	rounds       uint32
}

// begin counts a call of Agree or Shrink. It returns the number of this call in the communicator, and
// the acknowledged ranks.
func (m *mourning) begin() (round uint32, acknowledged []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rounds++
	return m.rounds, slices.Clone(m.acknowledged)
}

// acknowledge adds world ranks to the acknowledged ranks.
func (m *mourning) acknowledge(ranks []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.acknowledged = append(m.acknowledged, ranks...)
	slices.Sort(m.acknowledged)
	m.acknowledged = slices.Compact(m.acknowledged)
}
