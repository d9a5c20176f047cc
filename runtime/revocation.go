package runtime

import (
	"slices"
	"sync"
	"time"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// revocations holds the revocations by other ranks that the launcher has reported and on which this
// rank has not acted yet. The revoking rank also sends a notice in its lane to this rank, after its
// earlier messages. This rank first waits for that notice, because acting at once could end an operation
// whose message was sent before the revocation.
type revocations struct {
	mu      sync.Mutex // guards pending; the engine's lock may be held when mu is taken
	pending map[int][]*pendingRevocation
}

// pendingRevocation is a revocation on which this rank has not acted yet.
type pendingRevocation struct {
	comm uint64 // identity of the communicator
	once sync.Once
	act  func()
}

// revocationWait is the timeout for the notice of a revoking rank that has not ended.
const revocationWait = 100 * time.Millisecond

// takeRevocation handles a revocation that the launcher reports. It acts on the revocation when the
// revoking rank is lost, when a later Agree or Shrink of the communicator has been decided, or after
// revocationWait. If the notice of the revoking rank has arrived before, the communicator has failed
// already, and takeRevocation has no effect.
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
	time.AfterFunc(revocationWait, func() { w.revocations.act(r.Rank, p) })
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

// drop removes a revocation of a rank.
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

// act acts on a revocation of a rank, and drops it afterwards, because settle must find the revocation until the
// communicator has failed.
func (s *revocations) act(rank int, p *pendingRevocation) {
	p.once.Do(p.act)
	s.drop(rank, p)
}

// lost acts on the revocations of a rank that is lost.
func (s *revocations) lost(rank int) {
	s.mu.Lock()
	list := slices.Clone(s.pending[rank])
	s.mu.Unlock()
	for _, p := range list {
		go s.act(rank, p) // a goroutine, because the engine's lock may be held here
	}
}

// settle acts on the pending revocations of the communicator with this identity. If another goroutine is acting on
// one of them, settle waits until that goroutine has acted.
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
