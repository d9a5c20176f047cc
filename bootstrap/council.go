package bootstrap

import (
	"cmp"
	"fmt"
	"slices"
)

// Council decides the agreements of the members of communicators. It runs in the launcher of a job, or in
// rank 0 if another launcher has started the ranks, because only this process knows in which order ranks have
// ended. Because one Council decides, no two ranks can get different results. No agreement waits for another
// agreement. Council is a state machine without a lock, a clock or connections. A [Server] has one Council
// for each generation of the job. A job without a Server (of a runtime.Local, or of one rank) has one Council.
//
// An agreement is decided when each member has voted, has ended, or has left the job. If a rank ends after the
// Council has taken its vote, the vote still counts. Votes that name different lists of members belong to
// different agreements. A vote with a wrong list therefore does not change the agreement that has the right
// list.
type Council struct {
	size   int
	absent []bool // by rank: it has ended or has left the job
	deaths []int  // ranks that have ended without leaving the job, in the order of their ends
	order  []int  // by rank: 1 + its index in deaths, 0 if it is not in deaths
	rounds map[round]*count
	load   []int  // by rank: the sum of the loads of undecided agreements in which it has voted
	next   uint32 // number of the next communicator that a Shrink makes

	revoked map[uint64]bool // the last revokedMost communicators that were revoked
	old     []uint64        // the keys of revoked, in a circular buffer
	oldest  int             // index in old of the oldest key, once old is full
}

// round identifies an agreement.
type round struct {
	comm    uint64
	number  uint32
	members string // the members, as appendRanks encodes them
}

// key returns the identity of the agreement of a poll.
func (p *poll) key() round { return round{p.comm, p.round, string(appendRanks(nil, p.members))} }

// count is the state of an undecided agreement.
type count struct {
	members []int
	missing map[int]bool // members that have neither voted nor ended nor left the job
	voted   []int        // members that have voted
	flags   uint64       // bitwise AND of the flags of the votes
	purpose Purpose      // 0 if the votes have different purposes
	// acknowledged has, by member, the number of voters that have acknowledged the end of the member. voters
	// is the number of all voters.
	acknowledged map[int]int
	voters       int
}

const (
	// FirstShrunk is the lowest number that a Council gives to a communicator. Ranks agree
	// among themselves on lower numbers.
	FirstShrunk = 1 << 29
	// LastShrunk is the highest number that a Council gives to a communicator. A rank multiplies this number by
	// the number of contexts of a communicator, and the product must fit into 32 bits.
	LastShrunk = 1<<29 + 1<<28 - 1
	// revokedMost is the number of revocations that are remembered. If a revocation is repeated after this
	// number of other revocations, it is passed on to the ranks again, which is harmless.
	revokedMost = 1 << 12
	// The load of an undecided agreement is roundLoad plus its number of members. loadMost is the largest sum
	// of loads for a rank of a small world (see loadLimit). It allows thousands of small agreements.
	roundLoad = 32
	loadMost  = 1 << 17
)

// loadLimit returns the largest sum of the loads of the undecided agreements in which one rank of a world
// of size ranks may have voted. It bounds the memory that a rank can claim in the launcher by votes. The
// second term allows four agreements of all ranks.
func loadLimit(size int) int { return loadMost + 4*size }

// load returns the load of the agreement of a poll.
func (p *poll) load() int { return roundLoad + len(p.members) }

// NewCouncil returns the council of a job of size ranks.
func NewCouncil(size int) *Council {
	return &Council{
		size: size, absent: make([]bool, size), order: make([]int, size), rounds: map[round]*count{},
		load: make([]int, size), next: FirstShrunk, revoked: map[uint64]bool{},
	}
}

// Vote takes the vote of a rank. It returns the decision if this vote was the last missing vote, else nil.
// The error wraps ErrMalformed if no member can have given such a vote, or if the rank has voted in too many
// undecided agreements.
func (c *Council) Vote(rank int, v Vote) (*Decision, error) {
	p, err := parsePoll(pollOf(rank, &v).append(nil), c.size)
	if err != nil {
		return nil, err
	}
	return c.takeOf(rank, p)
}

// takeOf does the work of Vote for a poll that has only the vote of the given rank.
func (c *Council) takeOf(rank int, p *poll) (*Decision, error) {
	if c.overloads(rank, p) {
		return nil, tooMany(rank)
	}
	return c.take(p)
}

// tooMany is the error of a vote beyond loadLimit, or beyond pollsMost at a relay.
func tooMany(rank int) error {
	return fmt.Errorf("bootstrap: rank %d has voted in too many undecided agreements: %w", rank, ErrMalformed)
}

// overloads reports whether the rank would exceed its loadLimit with the vote of p.
func (c *Council) overloads(rank int, p *poll) bool {
	return c.load[rank]+p.load() > loadLimit(c.size)
}

// take takes the votes of a poll. It returns the decision if they were the last missing votes, else nil. It
// ignores votes of ranks that have already voted, have ended or have left the job. If votes are beyond
// loadLimit, take counts the other votes and returns an error that names the rank of the last vote beyond
// the limit.
func (c *Council) take(p *poll) (*Decision, error) {
	key := p.key()
	k := c.rounds[key]
	if k == nil {
		if !c.counts(p) {
			return nil, nil // the agreement may have been decided without the votes of this poll
		}
		k = &count{members: p.members, missing: map[int]bool{}, flags: ^uint64(0), acknowledged: map[int]int{}}
		for _, rank := range p.members {
			if !c.absent[rank] {
				k.missing[rank] = true
			}
		}
		c.rounds[key] = k
	}
	var err error
	for _, v := range p.ballots {
		n := 0
		for _, rank := range v.voters {
			switch {
			case !k.missing[rank]:
			case c.overloads(rank, p):
				err = tooMany(rank)
			default:
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
	if k.voters == 0 && err != nil {
		delete(c.rounds, key) // without a vote, no rank's load counts this agreement
		return nil, err
	}
	return c.decide(key, k), err
}

// counts reports whether a poll has the vote of a rank that has neither ended nor left the job.
func (c *Council) counts(p *poll) bool {
	for _, v := range p.ballots {
		for _, rank := range v.voters {
			if !c.absent[rank] {
				return true
			}
		}
	}
	return false
}

// Died records that a rank has ended without leaving the job. It returns the decisions of the agreements
// that waited for this rank alone. See Left for a rank that has left the job.
func (c *Council) Died(rank int) []*Decision {
	if c.order[rank] == 0 && !c.absent[rank] {
		c.deaths = append(c.deaths, rank)
		c.order[rank] = len(c.deaths)
	}
	return c.Left(rank)
}

// Left records that a rank has left the job. It returns the decisions of the agreements that waited for
// this rank alone.
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

// decide ends an agreement for which no vote is missing, and returns its decision. It returns nil if votes are
// missing, or if no member has voted.
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
		if c.next++; c.next > LastShrunk {
			c.next = FirstShrunk
		}
	}
	return d
}

// Revoke records a revocation. It returns true for the first revocation of a communicator. The caller then
// has to pass the revocation on to the ranks.
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
