package runtime

import (
	"errors"
	"fmt"
	"maps"
	"sync"
)

// contextsMax is the number of communicators a rank can make in its life. Numbers
// are not used again, so that a late message never meets a new communicator.
const contextsMax = 1<<30 - 1

// earlyWindow is how far below the newest number a communicator may still be in
// the making; notices for older ones are about communicators that were closed. No
// member can know of one with a higher number: this rank has claimed the number before
// any member has agreed on it.
const earlyWindow = 1 << 10

// errContexts ends the making of communicators.
var errContexts = errors.New("communicator numbers are used up")

// comms are the communicators of a rank.
type comms struct {
	// mu guards the fields. The engine's lock may be held when it is taken, hence
	// nothing is called with it held.
	mu sync.RWMutex
	// next is above every number that a communicator of this rank ever had.
	next uint32
	live map[uint32]*commCore
	// early are notices of breaks of communicators that this rank has not made yet, from
	// other members or from ranks that claim to be members.
	early map[earlyBreak]*BrokenError
}

// earlyBreak is a broken communicator and the rank that has broken it.
type earlyBreak struct {
	number uint32
	by     int // world rank
}

// add makes a communicator known.
func (s *comms) add(core *commCore) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == nil {
		s.live = make(map[uint32]*commCore)
	}
	s.live[core.number] = core
	s.next = max(s.next, core.number+1)
	for early, why := range s.early {
		if early.number != core.number {
			continue
		}
		delete(s.early, early)
		if core.has(early.by) {
			core.blame(why, early.by)
			core.failure.Store(&commFailure{why})
			core.broken.Store(true)
		}
	}
}

// findBroken returns the communicator of a number. If it is not there yet, the
// notice is kept for it.
func (s *comms) findBroken(number uint32, by int, why *BrokenError) *commCore {
	s.mu.Lock()
	defer s.mu.Unlock()
	oldest := s.next - min(s.next, earlyWindow)
	if core := s.live[number]; core != nil || number < oldest || number >= s.next {
		return core
	}
	if s.early == nil {
		s.early = make(map[earlyBreak]*BrokenError)
	}
	maps.DeleteFunc(s.early, func(e earlyBreak, _ *BrokenError) bool { return e.number < oldest })
	s.early[earlyBreak{number, by}] = why
	return nil
}

// remove forgets a communicator.
func (s *comms) remove(core *commCore) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, core.number)
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

// propose returns the lowest number this rank could agree to, at least atLeast.
func (s *comms) propose(atLeast uint32) uint32 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return max(s.next, atLeast)
}

// claim takes a number permanently if it is still free here.
func (s *comms) claim(number uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if number < s.next {
		return false
	}
	s.next = number + 1
	return true
}

// agreement is a group of ranks that agrees on the number of a communicator.
type agreement struct {
	comm  *Comm
	ranks []int // world ranks of the group
	rank  int   // the caller's place among them
	tag   int   // keeps agreements of overlapping groups apart
}

// run agrees on a number that is free at every rank of the group, and returns the
// words of all ranks beside it, as allgather does.
//
// Every rank proposes the lowest number that is free here; the highest proposal
// is tried. It may have been taken meanwhile by another goroutine that agrees on
// another communicator, so each says whether it could claim it, and all try again with a
// higher one if a rank could not. Numbers only increase, so the loop ends, unless other
// agreements take each number first.
//
// Another goroutine of this rank in the same agreement is ErrInUse: it would be undefined
// which of them agrees with which goroutine of another rank.
func (a *agreement) run(words ...uint64) (number uint32, all []uint64, err error) {
	core := a.comm.core
	if err := core.agreeing.enter(a.tag); err != nil {
		return 0, nil, err
	}
	defer core.agreeing.leave(a.tag)
	known := &core.world.comms
	var atLeast uint32
	for round := 0; ; round++ {
		got, err := a.allgather(append([]uint64{uint64(known.propose(atLeast))}, words...))
		if err != nil {
			return 0, nil, err
		}
		width, highest := len(words)+1, uint64(0)
		for at := 0; at < len(got); at += width {
			highest = max(highest, got[at])
		}
		if highest > contextsMax {
			return 0, nil, errContexts
		}
		number = uint32(highest)
		var refused uint64
		if !known.claim(number) {
			refused = 1
		}
		votes, err := a.allgather([]uint64{refused})
		if err != nil {
			return 0, nil, err
		}
		for _, v := range votes {
			refused |= v
		}
		if refused == 0 {
			return number, got, nil
		}
		atLeast = number + 1
	}
}

// allgather returns the words of every rank of the group in order, len(mine) of
// each. All give the same number of words.
//
// Algorithm: Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient algorithms for
// all-to-all communications in multiport message-passing systems" (1997): the
// blocks known double in each of ceil(log2 n) rounds. Any number of ranks.
// Cost = log2(n) alpha + (n-1) m beta.
func (a *agreement) allgather(mine []uint64) ([]uint64, error) {
	n, width := len(a.ranks), len(mine)
	near := make([]uint64, n*width) // block i is that of rank a.rank+i
	copy(near, mine)
	for have := 1; have < n; have *= 2 {
		more := min(have, n-have)
		to, from := a.ranks[(a.rank-have+n)%n], a.ranks[(a.rank+have)%n]
		in := bytesOf(near[have*width : (have+more)*width])
		if err := a.exchange(bytesOf(near[:more*width]), to, in, from); err != nil {
			return nil, err
		}
	}
	all := make([]uint64, n*width)
	turn := (n - a.rank) % n * width // where rank 0's block is
	copy(all, near[turn:])
	copy(all[len(near)-turn:], near[:turn])
	return all, nil
}

// exchange sends and receives at the same time.
func (a *agreement) exchange(out []byte, to int, in []byte, from int) error {
	s, err := a.comm.exchange(
		outgoing{a.comm.control(to, a.tag), byteElement, out},
		incoming{a.comm.control(from, a.tag), byteElement, in},
	)
	if err == nil && s.Bytes != len(in) {
		err = fmt.Errorf("%w: %d bytes of world rank %d, not %d: all members must make the same call", ErrArgument, s.Bytes, from, len(in))
	}
	return err
}
