package runtime

import (
	"maps"
	"slices"
	"sync"
)

// comms are the communicators of a rank, and the numbers that it cannot give to new ones.
//
// A number is free, claimed by an agreement under way, that of a live communicator, or that of
// one that was closed here. It is free again when every other member has said, in its lane,
// that it has closed the communicator, too: no message of the old one follows then, and those
// that had arrived are dropped before the number can be claimed. A number whose agreement
// failed, or whose communicator has lost a member, stays taken: others may use it.
type comms struct {
	// mu guards the fields. The engine's lock may be held when it is taken, hence
	// nothing is called with it held.
	mu    sync.RWMutex
	taken numbers
	live  map[uint32]*commCore
	// closed are those that were closed here and that members have not closed yet, as far as
	// this rank knows.
	closed map[uint32]*commCore
	// settled are the numbers of those that all members have closed, before recycle.
	settled []uint32
	// untold are those whose end the other members have not been told.
	untold []*commCore
	// claimed are the numbers of agreements under way, with the notices about communicators
	// that other members have made already, from them or from ranks that claim to be members.
	claimed map[uint32][]earlyNotice
	// serials are those of the agreements on numbers that are claimed, agreements how many this
	// rank has taken part in.
	serials    map[uint32]uint64
	agreements uint32
}

// earlyNotice is a notice about a communicator that this rank has not made yet.
type earlyNotice struct {
	by  int          // world rank
	why *BrokenError // nil if the notice is that the rank has closed it
	// identity is that of the communicator in a revocation, 0 if it can be no other one.
	identity uint64
}

// untoldMost bounds how many communicators a rank closes before it tells the other members,
// in one notice to each. It tells them as soon as it has closed as many as a communicator has
// members: then a Close costs one notice on average.
const untoldMost = 32

// add makes a communicator known.
func (s *comms) add(core *commCore) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == nil {
		s.live = make(map[uint32]*commCore)
	}
	s.live[core.number] = core
	s.taken.take(core.number)
	for _, n := range s.claimed[core.number] {
		switch {
		case !core.has(n.by), n.identity != 0 && n.identity != core.identity:
		case n.why == nil:
			core.depart(n.by)
		default:
			core.blame(n.why, n.by)
			core.failure.CompareAndSwap(nil, &commFailure{n.why})
			core.broken.Store(true)
		}
	}
	delete(s.claimed, core.number)
	delete(s.serials, core.number)
}

// findBroken returns the communicator of a number and, unless that is 0, identity. If it is not
// there yet, the notice is kept for it.
func (s *comms) findBroken(number uint32, identity uint64, by int, why *BrokenError) *commCore {
	s.mu.Lock()
	defer s.mu.Unlock()
	if core := s.live[number]; core != nil {
		if identity != 0 && identity != core.identity {
			return nil
		}
		return core
	}
	s.keep(number, earlyNotice{by, why, identity})
	return nil
}

// serial returns the serial number of the next agreement of this rank, which no other agreement
// of any rank has.
func (s *comms) serial(rank int) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.agreements++
	return uint64(rank)<<32 | uint64(s.agreements)
}

// stamp notes the serial number of the agreement on a number that is claimed.
func (s *comms) stamp(number uint32, serial uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.serials == nil {
		s.serials = make(map[uint32]uint64)
	}
	s.serials[number] = serial
}

// identify gives a communicator that is about to be made its identity.
func (s *comms) identify(core *commCore) {
	s.mu.Lock()
	defer s.mu.Unlock()
	core.identity = identityOf(s.serials[core.number], core.all())
}

// keep keeps a notice if its number is claimed. Of notices of one kind the first counts. mu
// is held.
func (s *comms) keep(number uint32, n earlyNotice) {
	early, ok := s.claimed[number]
	same := func(o earlyNotice) bool {
		return o.by == n.by && (o.why == nil) == (n.why == nil) && o.identity == n.identity
	}
	if ok && !slices.ContainsFunc(early, same) {
		s.claimed[number] = append(early, n)
	}
}

// close ends the use of a communicator here. It returns those whose end the other members
// are to be told now.
func (s *comms) close(core *commCore) (tell []*commCore) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, core.number)
	if s.closed == nil {
		s.closed = make(map[uint32]*commCore)
	}
	s.closed[core.number] = core
	s.settle(core)
	if core.others() > 0 {
		s.untold = append(s.untold, core)
	}
	if len(s.untold) < min(core.size, untoldMost) {
		return nil
	}
	tell, s.untold = s.untold, nil
	return tell
}

// departed takes the notice that another rank has closed a communicator.
func (s *comms) departed(number uint32, by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	core := s.live[number]
	if core == nil {
		core = s.closed[number]
	}
	switch {
	case core == nil:
		s.keep(number, earlyNotice{by: by})
	case core.has(by):
		core.depart(by)
		s.settle(core)
	}
}

// settle records that all members have closed a communicator, if they have. mu is held.
func (s *comms) settle(core *commCore) {
	if s.closed[core.number] == core && len(core.departed) == core.others() {
		delete(s.closed, core.number)
		s.settled = append(s.settled, core.number)
	}
}

// find returns the communicator that an engine's context belongs to, or nil.
func (s *comms) find(context uint32) *commCore {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.live[context/contextStride]
}

// member tells the engine whether a peer belongs to a context.
func (s *comms) member(context uint32, peer int) bool {
	core := s.find(context)
	return core == nil || core.has(peer)
}

// all returns the communicators that can be used, by number.
func (s *comms) all() []*commCore {
	s.mu.RLock()
	defer s.mu.RUnlock()
	cores := make([]*commCore, 0, len(s.live))
	for _, number := range slices.Sorted(maps.Keys(s.live)) {
		cores = append(cores, s.live[number])
	}
	return cores
}

// propose returns the numbers from one on that this rank could agree to.
func (s *comms) propose(from uint32) proposal {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.taken.propose(from)
}

// claim takes a number if it is free here.
func (s *comms) claim(number uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.taken.take(number) {
		return false
	}
	if s.claimed == nil {
		s.claimed = make(map[uint32][]earlyNotice)
	}
	s.claimed[number] = nil
	return true
}

// release gives back a claimed number of which this rank makes no communicator.
func (s *comms) release(number uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.claimed, number)
	delete(s.serials, number)
	s.taken.free(number)
}

// abandon ends a claim whose agreement failed. Other ranks may have made the communicator, so
// the number stays taken.
func (s *comms) abandon(number uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.claimed, number)
	delete(s.serials, number)
}

// recycle frees the numbers of communicators that all members have closed. forget drops what
// has arrived for them; mu is not held.
func (s *comms) recycle(forget func(numbers []uint32)) {
	s.mu.Lock()
	settled := s.settled
	s.settled = nil
	s.mu.Unlock()
	if len(settled) == 0 {
		return
	}
	forget(settled)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, number := range settled {
		s.taken.free(number)
	}
}
