package runtime

import (
	"sync"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/internal/localjob"
)

// council decides the agreements of ranks and forwards revocations. In a job of several ranks that are
// processes, the launcher decides, or rank 0 if another launcher than gorun has started the ranks. In a
// Local of several ranks that starts lost ranks again, its bootstrap.Server decides (see restarts). All other ranks
// have a localCouncil.
type council interface {
	// Vote sends this rank's vote. The decision arrives as a notice. If the launcher refuses the vote
	// (bootstrap.Council), Vote returns an error, or the rank ends.
	Vote(v bootstrap.Vote) error
	// Revoke notifies the other ranks of a revocation, even if this rank ends.
	Revoke(r bootstrap.Revocation) error
}

var _ council = (*bootstrap.Session)(nil)

// localCouncil is the council of the ranks of a Local that does not start lost ranks again, and of the rank
// of a job of one rank.
type localCouncil struct {
	worlds []*World
	// launcher carries votes, revocations and notices between ranks and council. If launcher is nil, they
	// arrive at once.
	launcher localjob.Launcher
	// silent reports whether the council receives nothing from a rank, for example because the rank was
	// killed.
	silent func(rank int) bool

	// mu guards state and dead. Notices to ranks are sent while mu is held, so that every rank gets
	// them in the same order. Locks of engines are taken while mu is held.
	mu    sync.Mutex
	state *bootstrap.Council
	dead  map[int]bool
}

// newLocalCouncil returns the council of the ranks of worlds. The elements of worlds may be set
// later.
func newLocalCouncil(worlds []*World, launcher localjob.Launcher, silent func(rank int) bool) *localCouncil {
	return &localCouncil{worlds: worlds, launcher: launcher, silent: silent, state: bootstrap.NewCouncil(len(worlds)), dead: make(map[int]bool)}
}

// of returns the access of one rank to the council.
func (c *localCouncil) of(rank int) council { return &localSeat{c, rank} }

// localSeat is the access of one rank to a localCouncil.
type localSeat struct {
	council *localCouncil
	rank    int
}

// Vote implements council.
func (s *localSeat) Vote(v bootstrap.Vote) error {
	if s.council.silent(s.rank) {
		return ErrAborted
	}
	c := s.council
	var refused error
	c.up(s.rank, func() {
		d, err := c.state.Vote(s.rank, v)
		switch {
		case err != nil && c.launcher != nil:
			c.worlds[s.rank].failed(err) // this rank votes no more, as after an error of the launcher's Server
		case err != nil:
			refused = err
		case d != nil:
			c.decided([]*bootstrap.Decision{d})
		}
	})
	if c.launcher != nil {
		return nil // the vote is under way
	}
	return refused
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

// died records that a rank was killed, and notifies the other ranks.
func (c *localCouncil) died(rank int, cause error) {
	c.up(rank, func() {
		c.dead[rank] = true
		c.tell(bootstrap.Notice{Kind: bootstrap.PeerDown, Rank: rank, Cause: cause.Error()})
		c.decided(c.state.Died(rank))
	})
}

// up passes a message of a rank to the council: when the message arrives, up calls the function arrive with mu
// held. If launcher is nil, the message arrives at once.
func (c *localCouncil) up(rank int, arrive func()) {
	locked := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		arrive()
	}
	if c.launcher == nil {
		locked()
		return
	}
	c.launcher.Up(rank, locked)
}

// decided sends decisions to the ranks. mu is held.
func (c *localCouncil) decided(list []*bootstrap.Decision) {
	for _, d := range list {
		c.tell(bootstrap.Notice{Kind: bootstrap.Decided, Decision: d})
	}
}

// tell sends a notice to all ranks that live. mu is held.
func (c *localCouncil) tell(n bootstrap.Notice) {
	for rank, w := range c.worlds {
		switch {
		case c.dead[rank]:
		case c.launcher == nil:
			w.notice(n)
		default:
			c.launcher.Down(rank, func() { w.notice(n) })
		}
	}
}
