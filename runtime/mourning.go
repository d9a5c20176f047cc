package runtime

import (
	"slices"
	"sync"
)

// mourning is what a rank has acknowledged of the deaths of the members of a communicator, and
// how many agreements it has begun there.
type mourning struct {
	// mu guards the fields. Nothing is called under it.
	mu           sync.Mutex
	acknowledged []int // world ranks, ascending
	rounds       uint32
}

// begin returns the number of an agreement, and what is acknowledged.
func (m *mourning) begin() (round uint32, acknowledged []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rounds++
	return m.rounds, slices.Clone(m.acknowledged)
}

// acknowledge adds ranks.
func (m *mourning) acknowledge(ranks []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.acknowledged = append(m.acknowledged, ranks...)
	slices.Sort(m.acknowledged)
	m.acknowledged = slices.Compact(m.acknowledged)
}
