package runtime

import (
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// contextsMax is the exclusive upper bound of the communicator numbers that ranks choose by
// agreement.
const contextsMax = bootstrap.FirstShrunk

// errContexts is the error of the calls that make a communicator when no number is left.
var errContexts = errors.New("communicator numbers are used up")

// agreement describes how a group of ranks agrees on the number of a new communicator.
type agreement struct {
	comm  *Comm
	ranks []int // world ranks of the group
	rank  int   // the caller's index in ranks
	tag   int   // separates the messages of agreements of overlapping groups
	// across replaces allgather if there are two groups: it gathers the words of both. It is nil if
	// there is one group.
	across func(mine []uint64) ([]uint64, error)
}

// proposalWords is the number of words that a rank sends before the caller's words: three words of
// the proposal, and the serial number.
const proposalWords = 4

// run agrees on a number that is free at every rank of the group. It also exchanges the words that the
// ranks pass to run, and returns the words of all ranks in the order in which gather returns them. The number is
// claimed: the caller makes a communicator with it or releases it.
//
// If run fails, it returns the number 0, with one exception: this rank has claimed a number, and the exchange of the
// reports described below has failed. Then run returns this number and the words. Other ranks may have received all
// reports and made the communicator. The caller makes it, too, and breaks it (see Comm.made).
//
// Every rank proposes numbers that are free at it, and all ranks compute the same number (see
// common), which was free at all of them. Meanwhile, another goroutine of some rank may have taken
// this number for another communicator. So each rank reports whether it could claim the number. If
// any rank could not claim it, all ranks try again with a higher number. Because each attempt has a
// higher number, the loop ends as soon as other agreements stop taking these numbers first.
//
// The error is ErrInUse if another goroutine of this rank is in an agreement with the same tag on the same
// communicator. The reason is that nothing distinguishes the messages of the two agreements.
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
		claimed := known.claim(number)
		refused := wordOf(!claimed)
		votes, err := a.gather([]uint64{refused})
		if err != nil {
			if !claimed {
				return 0, nil, err // no rank keeps a communicator with this number
			}
			known.stamp(number, first)
			return number, got, err
		}
		for _, v := range votes {
			refused |= v
		}
		if refused == 0 {
			known.stamp(number, first)
			return number, got, nil
		}
		if claimed {
			known.release(number) // no rank keeps a communicator with this number
		}
		atLeast = number + 1
	}
}

// propose exchanges proposals, serial numbers and words. It returns the number to try, the words of
// all ranks, and the lowest of the serial numbers. No other agreement returns this serial number.
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

// gather calls across if there are two groups, else allgather.
func (a *agreement) gather(mine []uint64) ([]uint64, error) {
	if a.across != nil {
		return a.across(mine)
	}
	return a.allgather(mine)
}

// allgather returns the words of every rank of the group in order, len(mine) words of each. All
// ranks give the same number of words.
//
// Algorithm: Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient algorithms for all-to-all
// communications in multiport message-passing systems" (1997). In each of
// ceil(log2 n) rounds, a rank doubles the number of its blocks; the last round may add fewer blocks. The algorithm
// works for any number n of ranks. The time is ceil(log2 n) alpha + (n-1) m beta for m bytes per rank, with the latency
// alpha and the time beta per byte.
func (a *agreement) allgather(mine []uint64) ([]uint64, error) {
	n, width := len(a.ranks), len(mine)
	near := make([]uint64, n*width) // block i has the words of rank (a.rank+i)%n
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
	turn := (n - a.rank) % n * width // the index of rank 0's block in near
	copy(all, near[turn:])
	copy(all[len(near)-turn:], near[:turn])
	return all, nil
}

// exchange sends a message (out) to a world rank (to) and, at the same time, receives a message (in) from a
// world rank (from), which may be the same rank.
func (a *agreement) exchange(out []byte, to int, in []byte, from int) error {
	s, err := a.comm.exchange(
		outgoing{a.comm.control(to, a.tag), byteElement, out},
		incoming{a.comm.control(from, a.tag), byteElement, in},
	)
	if err == nil && s.Bytes != len(in) {
		err = fmt.Errorf("%w: %d bytes from world rank %d, not %d: all members must make the same call", ErrArgument, s.Bytes, from, len(in))
	}
	return err
}
