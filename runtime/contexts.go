package runtime

import (
	"maps"
	"slices"
	"sync"
)

// comms holds the communicators of a rank, and the numbers that the rank cannot give to new ones.
//
// A number has one of four states: free, claimed by an agreement under way, used by a live
// communicator, or used by a communicator that this rank has closed. In the last state, the number
// becomes free when every other member has notified this rank that the member has closed the
// communicator, too. The notice is sent in the lane from the member, so no message of the old
// communicator follows it. Messages that arrived earlier are discarded before the number can be
// claimed. A number stays taken if its agreement failed or its communicator has lost a member,
// because other ranks may use it.
type comms struct {
	// mu guards the fields. The engine's lock may be held when mu is taken, hence no other lock is
	// taken while mu is held.
	mu    sync.RWMutex
	taken numbers
	live  map[uint32]*commCore
	// closed are the communicators that were closed at this rank and that, as far as this rank
	// knows, at least one other member has not closed yet.
	closed map[uint32]*commCore
	// settled are the numbers of the communicators that all members have closed. recycle frees
	// them.
	settled []uint32
	// untold are the closed communicators about which the other members have not been notified yet.
	untold []*commCore
	// claimed are the numbers of agreements under way. With each number, claimed holds the notices
	// that have arrived for the new communicator. The senders are members that have made the
	// communicator already, or ranks that claim to be members.
	claimed map[uint32][]earlyNotice
	// serials are the serial numbers of the agreements on the claimed numbers. agreements is the
	// number of agreements in which this rank has taken part.
	serials    map[uint32]uint64
	agreements uint32
}

// earlyNotice is a notice about a communicator that this rank has not made yet.
type earlyNotice struct {
	by  int          // world rank
	why *BrokenError // nil if the notice reports a Close
	// identity is the communicator's identity if the notice is a revocation. It is 0 if the notice
	// came in the lane from the member, because such a notice cannot concern another communicator
	// with this number.
	identity uint64
}

// untoldMost bounds how many communicators a rank closes before it notifies the other members. Each member
// gets one notice about all of these communicators to which it belongs. A rank also notifies the other members
// as soon as the number of these communicators reaches the number of members of the latest one. So on average
// a Close of a communicator of at most untoldMost members costs no more than one notice.
const untoldMost = 32

// add enters a communicator, and applies the notices that have arrived for it.
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
		case core.has(n.why.member):
			core.blame(n.why)
			core.failure.CompareAndSwap(nil, &commFailure{n.why})
			core.broken.Store(true)
		}
	}
	delete(s.claimed, core.number)
	delete(s.serials, core.number)
}

// findBroken returns the live communicator with this number, or nil if there is none. If identity is
// not 0, the communicator must have this identity, too. If no live communicator has the number, but an
// agreement under way has claimed it, findBroken keeps the notice, because this rank may be about to
// make the communicator.
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

// serial returns the serial number that this rank proposes for its next agreement. No rank proposes
// the same serial number for another agreement.
func (s *comms) serial(rank int) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.agreements++
	return uint64(rank)<<32 | uint64(s.agreements)
}

// stamp records the serial number of the agreement on a claimed number.
func (s *comms) stamp(number uint32, serial uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.serials == nil {
		s.serials = make(map[uint32]uint64)
	}
	s.serials[number] = serial
}

// identify sets the identity of a communicator that is about to be added.
func (s *comms) identify(core *commCore) {
	s.mu.Lock()
	defer s.mu.Unlock()
	core.identity = identityOf(s.serials[core.number], core.all())
}

// keep keeps a notice if its number is claimed. Of several notices of one kind from one rank, only
// the first is kept. mu is held.
func (s *comms) keep(number uint32, n earlyNotice) {
	early, ok := s.claimed[number]
	same := func(o earlyNotice) bool {
		return o.by == n.by && (o.why == nil) == (n.why == nil) && o.identity == n.identity
	}
	if ok && !slices.ContainsFunc(early, same) {
		s.claimed[number] = append(early, n)
	}
}

// close removes a communicator from the live ones. It returns the communicators about whose end the
// other members are to be notified now.
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

// departed handles the notice that another rank has closed a communicator.
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

// settle moves a communicator from closed to settled if all members have closed it. mu is held.
func (s *comms) settle(core *commCore) {
	if s.closed[core.number] == core && len(core.departed) == core.others() {
		delete(s.closed, core.number)
		s.settled = append(s.settled, core.number)
	}
}

// find returns the live communicator to which a context of the engine belongs, or nil.
func (s *comms) find(context uint32) *commCore {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.live[context/contextStride]
}

// member reports to the engine whether a peer may send in a context. If the context belongs to no
// live communicator, it returns true.
func (s *comms) member(context uint32, peer int) bool {
	core := s.find(context)
	return core == nil || core.has(peer)
}

// all returns the live communicators, ordered by number.
func (s *comms) all() []*commCore {
	s.mu.RLock()
	defer s.mu.RUnlock()
	cores := make([]*commCore, 0, len(s.live))
	for _, number := range slices.Sorted(maps.Keys(s.live)) {
		cores = append(cores, s.live[number])
	}
	return cores
}

// propose returns a proposal of free numbers. No proposed number is less than the argument from.
func (s *comms) propose(from uint32) proposal {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.taken.propose(from)
}

// claim takes a number if it is free at this rank, and reports whether the number was free.
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

// release frees a claimed number with which this rank makes no communicator.
func (s *comms) release(number uint32) {
	s.abandon(number)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken.free(number)
}

// abandon ends the claim on a number whose agreement failed. The number stays taken, because other
// ranks may have made the communicator.
func (s *comms) abandon(number uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.claimed, number)
	delete(s.serials, number)
}

// recycle frees the numbers of communicators that all members have closed. Before recycle frees the
// numbers, it calls the function forget without holding mu. forget discards the messages that have
// arrived for these communicators.
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
