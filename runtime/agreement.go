package runtime

import (
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// contextsMax is above the numbers on which ranks agree.
const contextsMax = bootstrap.FirstShrunk

// errContexts ends the making of communicators.
var errContexts = errors.New("communicator numbers are used up")

// agreement is a group of ranks that agrees on the number of a communicator.
type agreement struct {
	comm  *Comm
	ranks []int // world ranks of the group
	rank  int   // the caller's place among them
	tag   int   // keeps agreements of overlapping groups apart
	// across is how words are gathered of a second group, too; nil if there is none.
	across func(mine []uint64) ([]uint64, error)
}

// proposalWords is how many words of a proposal precede those of the caller.
const proposalWords = 4

// run agrees on a number that is free at every rank of the group, and returns the
// words of all ranks beside it, as allgather does. The number is claimed: the caller makes a
// communicator of it or releases it.
//
// Every rank proposes the numbers that are free here, and all compute the lowest one that they
// have in common. It may have been taken meanwhile by another goroutine that agrees on
// another communicator, so each says whether it could claim it, and all try again with a
// higher one if a rank could not. What is tried only increases, so the loop ends, unless other
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
	known.recycle(core.world.forget)
	var atLeast uint32
	serial := known.serial(core.world.Rank())
	for {
		highest, got, first, err := a.propose(known.propose(atLeast), serial, words)
		if err != nil {
			return 0, nil, err
		}
		if highest >= contextsMax {
			return 0, nil, errContexts
		}
		number = uint32(highest)
		claimed, refused := known.claim(number), uint64(0)
		if !claimed {
			refused = 1
		}
		votes, err := a.gather([]uint64{refused})
		if err != nil {
			if claimed {
				known.abandon(number)
			}
			return 0, nil, err
		}
		for _, v := range votes {
			refused |= v
		}
		if refused == 0 {
			known.stamp(number, first)
			return number, got, nil
		}
		if claimed {
			known.release(number) // no rank makes a communicator of it
		}
		atLeast = number + 1
	}
}

// propose exchanges proposals, serial numbers and words. It returns the number to try, the words,
// and the lowest serial number, which no other agreement has.
func (a *agreement) propose(p proposal, serial uint64, words []uint64) (number uint64, all []uint64, first uint64, err error) {
	got, err := a.gather(append([]uint64{p.lowest, p.window, p.top, serial}, words...))
	if err != nil {
		return 0, nil, 0, err
	}
	first = serial
	var proposals []proposal
	for at := 0; at < len(got); at += proposalWords + len(words) {
		proposals = append(proposals, proposal{got[at], got[at+1], got[at+2]})
		first = min(first, got[at+3])
		all = append(all, got[at+proposalWords:][:len(words)]...)
	}
	return common(proposals), all, first, nil
}

// gather is allgather, or what stands for it where there are two groups.
func (a *agreement) gather(mine []uint64) ([]uint64, error) {
	if a.across != nil {
		return a.across(mine)
	}
	return a.allgather(mine)
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
