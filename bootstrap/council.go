package bootstrap

import (
	"cmp"
	"fmt"
	"slices"
)

// Council decides the agreements of the members of communicators, in the launcher of a job: it
// alone knows in which order ranks have ended, so no two ranks can get different results, and
// what one agreement waits for is never another one. It is a state machine without a lock, a
// clock and connections: [Server] has one, and so has a job within a process.
//
// An agreement is decided when each member has voted, has ended, or has left the job. A vote
// counts even if its rank has ended since. Votes that name other members are of another agreement:
// a rank that is wrong about them, or lies, waits alone.
type Council struct {
	size   int
	absent []bool // has ended or left
	deaths []int  // ranks that have ended, in order
	order  []int  // by rank: 1 + index in deaths, 0 for none
	rounds map[round]*count
	load   []int  // by rank: the sum of the loads of agreements under way in which it has voted
	next   uint32 // number of the next communicator of a Shrink

	revoked map[uint64]bool
	old     []uint64 // keys of revoked, as a ring
	oldest  int
}

// round names an agreement.
type round struct {
	comm    uint64
	number  uint32
	members string // in the form of appendRanks
}

// key names the agreement of a poll.
func (p *poll) key() round { return round{p.comm, p.round, string(appendRanks(nil, p.members))} }

// count is an agreement under way.
type count struct {
	members []int
	missing map[int]bool // members that are waited for
	voted   []int        // members that have voted
	flags   uint64
	purpose Purpose // 0 if the votes differ in it
	// acknowledged counts the voters that have acknowledged the end of a member, voters all.
	acknowledged map[int]int
	voters       int
}

const (
	// FirstShrunk is the lowest number that a Council gives to a communicator. Ranks agree
	// among themselves on lower ones.
	FirstShrunk = 1 << 29
	// lastShrunk is the highest one.
	lastShrunk = 1<<30 - 1
	// revokedMost bounds how many revocations are remembered. One that comes again after so
	// many others is passed on again, which changes nothing.
	revokedMost = 1 << 12
	// roundLoad and a member are what an agreement under way counts for, loadMost is how much a rank
	// may have: thousands of small agreements, and four of all ranks of a large job.
	roundLoad = 32
	loadMost  = 1 << 17
)

// loadLimit bounds the agreements under way in which a rank of a world of size ranks has voted, so
// that one that votes and votes does not fill the memory of the launcher.
func loadLimit(size int) int { return loadMost + 4*size }

// load is what the agreement counts for.
func (p *poll) load() int { return roundLoad + len(p.members) }

// NewCouncil returns the council of a job of size ranks.
func NewCouncil(size int) *Council {
	return &Council{
		size: size, absent: make([]bool, size), order: make([]int, size), rounds: map[round]*count{},
		load: make([]int, size), next: FirstShrunk, revoked: map[uint64]bool{},
	}
}

// Vote takes the vote of a rank. It returns the decision if that was the last one, else nil, and
// ErrMalformed for a vote that none of its members can have given, or of a rank that has voted in
// too many agreements that are under way.
func (c *Council) Vote(rank int, v Vote) (*Decision, error) {
	p, err := parsePoll(pollOf(rank, &v).append(nil), c.size)
	if err != nil {
		return nil, err
	}
	return c.takeOf(rank, p)
}

// takeOf takes the vote of one rank.
func (c *Council) takeOf(rank int, p *poll) (*Decision, error) {
	if c.overloads(rank, p) {
		return nil, fmt.Errorf("bootstrap: rank %d has voted in too many agreements that are under way: %w", rank, ErrMalformed)
	}
	return c.take(p), nil
}

// overloads reports whether one more vote is too much of a rank.
func (c *Council) overloads(rank int, p *poll) bool {
	return c.load[rank]+p.load() > loadLimit(c.size)
}

// take takes votes. Those of ranks that are not waited for are ignored: they have ended, or
// have voted; and those that are too many, which a node does not send.
func (c *Council) take(p *poll) *Decision {
	key := p.key()
	k := c.rounds[key]
	if k == nil {
		if !c.counts(p) {
			return nil // it may have been decided without them
		}
		k = &count{members: p.members, missing: map[int]bool{}, flags: ^uint64(0), acknowledged: map[int]int{}}
		for _, rank := range p.members {
			if !c.absent[rank] {
				k.missing[rank] = true
			}
		}
		c.rounds[key] = k
	}
	for _, v := range p.ballots {
		n := 0
		for _, rank := range v.voters {
			if k.missing[rank] && !c.overloads(rank, p) {
				delete(k.missing, rank)
				k.voted = append(k.voted, rank)
				c.load[rank] += p.load()
				n++
			}
		}
		if n == 0 {
			continue
		}
		if k.voters == 0 {
			k.purpose = v.purpose
		} else if k.purpose != v.purpose {
			k.purpose = 0
		}
		k.flags &= v.flags
		k.voters += n
		for _, rank := range v.acknowledged {
			k.acknowledged[rank] += n
		}
	}
	return c.decide(key, k)
}

// counts reports whether there is a vote of a rank that has neither ended nor left, and has not voted
// too often.
func (c *Council) counts(p *poll) bool {
	for _, v := range p.ballots {
		for _, rank := range v.voters {
			if !c.absent[rank] && !c.overloads(rank, p) {
				return true
			}
		}
	}
	return false
}

// Died takes note that a rank has ended without leaving the job, and returns what is decided by
// that. Left is the same for a rank that has left it.
func (c *Council) Died(rank int) []*Decision {
	if c.order[rank] == 0 && !c.absent[rank] {
		c.deaths = append(c.deaths, rank)
		c.order[rank] = len(c.deaths)
	}
	return c.Left(rank)
}

// Left takes note that a rank has left the job.
func (c *Council) Left(rank int) []*Decision {
	if c.absent[rank] {
		return nil
	}
	c.absent[rank] = true
	var made []*Decision
	for key, k := range c.rounds {
		if k.missing[rank] {
			delete(k.missing, rank)
			if d := c.decide(key, k); d != nil {
				made = append(made, d)
			}
		}
	}
	slices.SortFunc(made, func(a, b *Decision) int {
		return cmp.Or(cmp.Compare(a.Comm, b.Comm), cmp.Compare(a.Round, b.Round), slices.Compare(a.members, b.members))
	})
	return made
}

// decide ends an agreement that waits for nobody.
func (c *Council) decide(key round, k *count) *Decision {
	if len(k.missing) > 0 {
		return nil
	}
	delete(c.rounds, key)
	for _, rank := range k.voted {
		c.load[rank] -= roundLoad + len(k.members)
	}
	if k.voters == 0 {
		return nil
	}
	d := &Decision{
		Comm: key.comm, Round: key.number, Purpose: k.purpose, Flags: k.flags, Epoch: uint32(len(c.deaths)), Lost: -1,
		members: k.members,
	}
	for _, rank := range k.members {
		if c.order[rank] == 0 {
			continue
		}
		d.Dead = append(d.Dead, rank)
		if k.acknowledged[rank] < k.voters && (d.Lost < 0 || c.order[rank] < c.order[d.Lost]) {
			d.Lost = rank
		}
	}
	if k.purpose == PurposeShrink {
		d.Number = c.next
		if c.next++; c.next > lastShrunk {
			c.next = FirstShrunk
		}
	}
	return d
}

// Revoke reports whether a revocation is to be passed on: it is the first one of its
// communicator.
func (c *Council) Revoke(comm uint64) bool {
	if c.revoked[comm] {
		return false
	}
	c.revoked[comm] = true
	if len(c.old) < revokedMost {
		c.old = append(c.old, comm)
		return true
	}
	delete(c.revoked, c.old[c.oldest])
	c.old[c.oldest] = comm
	c.oldest = (c.oldest + 1) % revokedMost
	return true
}
