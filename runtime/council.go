package runtime

import (
	"sync"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/internal/localjob"
)

// council decides agreements of ranks, and passes revocations on: the launcher, or what stands
// for it.
type council interface {
	// Vote gives this rank's vote. A notice has the decision.
	Vote(v bootstrap.Vote) error
	// Revoke tells the other ranks of a revocation, even if this rank ends.
	Revoke(r bootstrap.Revocation) error
}

var _ council = (*bootstrap.Session)(nil)

// localCouncil is the council of ranks of this process.
type localCouncil struct {
	worlds []*World
	// way is nil if what is said is received at once.
	way localjob.Launcher
	// silent says whether the council receives nothing of a rank any more: it was killed.
	silent func(rank int) bool

	// mu guards state, and orders what is said to a rank. Locks of engines are taken under it.
	mu    sync.Mutex
	state *bootstrap.Council
	dead  map[int]bool
}

// newLocalCouncil returns the council of ranks that may be made later.
func newLocalCouncil(worlds []*World, way localjob.Launcher, silent func(rank int) bool) *localCouncil {
	return &localCouncil{worlds: worlds, way: way, silent: silent, state: bootstrap.NewCouncil(len(worlds)), dead: make(map[int]bool)}
}

// of returns the council for one of its ranks.
func (c *localCouncil) of(rank int) council { return &localSeat{c, rank} }

// localSeat is one rank's way to a localCouncil.
type localSeat struct {
	council *localCouncil
	rank    int
}

// Vote implements council.
func (s *localSeat) Vote(v bootstrap.Vote) error {
	if s.council.silent(s.rank) {
		return ErrAborted
	}
	s.council.up(s.rank, func() {
		if d, err := s.council.state.Vote(s.rank, v); err == nil && d != nil {
			s.council.decided([]*bootstrap.Decision{d})
		}
	})
	return nil
}

// Revoke implements council.
func (s *localSeat) Revoke(r bootstrap.Revocation) error {
	if s.council.silent(s.rank) {
		return ErrAborted
	}
	s.council.up(s.rank, func() {
		if s.council.state.Revoke(r.Comm) {
			s.council.tell(bootstrap.Notice{Kind: bootstrap.Revoked, Revocation: &r})
		}
	})
	return nil
}

// died says that a rank was killed.
func (c *localCouncil) died(rank int, cause error) {
	c.up(rank, func() {
		c.dead[rank] = true
		c.tell(bootstrap.Notice{Kind: bootstrap.PeerDown, Rank: rank, Cause: cause.Error()})
		c.decided(c.state.Died(rank))
	})
}

// up calls arrive, with mu held, when the council receives something of a rank.
func (c *localCouncil) up(rank int, arrive func()) {
	locked := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		arrive()
	}
	if c.way == nil {
		locked()
		return
	}
	c.way.Up(rank, locked)
}

// decided tells the ranks what was decided.
func (c *localCouncil) decided(list []*bootstrap.Decision) {
	for _, d := range list {
		c.tell(bootstrap.Notice{Kind: bootstrap.Decided, Decision: d})
	}
}

// tell gives a notice to all ranks that live. mu is held.
func (c *localCouncil) tell(n bootstrap.Notice) {
	for rank, w := range c.worlds {
		switch {
		case c.dead[rank]:
		case c.way == nil:
			w.notice(n)
		default:
			c.way.Down(rank, func() { w.notice(n) })
		}
	}
}
