package runtime

import (
	"sync"
	"time"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// revocations are what the launcher has reported of other ranks, and what has not been acted on:
// a revocation comes as a message of its rank, too, after all that the rank has sent before, and
// so it ends no operation that has its message already.
type revocations struct {
	mu      sync.Mutex // guards pending; the engine's lock may be held when it is taken
	pending map[int][]*pendingRevocation
}

// pendingRevocation is one of them.
type pendingRevocation struct {
	comm uint64 // identity
	once sync.Once
	act  func()
}

// revocationWait is how long the message of a rank that has not ended is waited for.
const revocationWait = 100 * time.Millisecond

// takeRevocation acts on a revocation when the messages of its rank have been taken, its rank is
// lost, an agreement of the communicator has been decided after it, or revocationWait is over.
func (w *World) takeRevocation(r *bootstrap.Revocation) {
	if r.Rank == w.Rank() {
		return
	}
	p := &pendingRevocation{comm: r.Comm, act: func() {
		if core, why := w.readBreak(r.Rank, int(r.Number), r.Comm, r.Text); core != nil {
			w.broken(core, why, nil)
		}
	}}
	w.revocations.add(r.Rank, p)
	if w.memory.lossOf(r.Rank) != nil {
		w.revocations.lost(r.Rank)
		return
	}
	time.AfterFunc(revocationWait, func() {
		w.revocations.drop(r.Rank, p)
		p.once.Do(p.act)
	})
}

// add adds a revocation of a rank.
func (s *revocations) add(rank int, p *pendingRevocation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending == nil {
		s.pending = make(map[int][]*pendingRevocation)
	}
	s.pending[rank] = append(s.pending[rank], p)
}

// drop removes it.
func (s *revocations) drop(rank int, p *pendingRevocation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.pending[rank]
	for i := range list {
		if list[i] == p {
			s.pending[rank] = append(list[:i:i], list[i+1:]...)
			break
		}
	}
	if len(s.pending[rank]) == 0 {
		delete(s.pending, rank)
	}
}

// lost acts on the revocations of a rank that is lost.
func (s *revocations) lost(rank int) {
	s.mu.Lock()
	list := s.pending[rank]
	delete(s.pending, rank)
	s.mu.Unlock()
	for _, p := range list {
		go p.once.Do(p.act) // the engine's lock may be held
	}
}

// settle acts on the revocations of a communicator.
func (s *revocations) settle(comm uint64) {
	s.mu.Lock()
	var list []*pendingRevocation
	for _, pending := range s.pending {
		for _, p := range pending {
			if p.comm == comm {
				list = append(list, p)
			}
		}
	}
	s.mu.Unlock()
	for _, p := range list {
		p.once.Do(p.act)
	}
}
