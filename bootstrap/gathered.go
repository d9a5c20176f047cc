package bootstrap

import (
	"fmt"
	"slices"
)

// vote adds the vote of a rank to the poll of its agreement. The poll gathers the votes of the members on
// this node. vote sends the poll if it is complete. Callers hold gathering.
func (r *Relay) vote(rank int, body []byte) error {
	p, err := parsePoll(body, r.size)
	if err != nil || !p.isOf(rank) {
		return fmt.Errorf("bootstrap: vote of %d bytes: %w", len(body), ErrMalformed)
	}
	key := p.key()
	all := r.polls[key]
	switch {
	case r.isFull(rank, p):
		return tooMany(rank)
	case all == nil:
		r.polls[key] = p
	case all.has(rank):
		return fmt.Errorf("bootstrap: second vote in a round: %w", ErrMalformed)
	default:
		all.add(&p.ballots[0])
	}
	return r.count(rank)
}

// pollsMost is the largest number of incomplete polls of a node in which one rank may have voted.
const pollsMost = 1 << 12

// isFull reports whether a rank would exceed pollsMost or its loadLimit with one more vote. The parameter
// next is the poll of that vote. isFull visits all polls of the node, because a node usually has few polls.
// Callers hold gathering.
func (r *Relay) isFull(rank int, next *poll) bool {
	n, load := 1, next.load()
	for _, p := range r.polls {
		if p.has(rank) {
			n, load = n+1, load+p.load()
		}
	}
	return n > pollsMost || load > loadLimit(r.size)
}

// add adds the ballot of one rank. If the poll already has a ballot that differs only in its voters, add adds
// the rank to the voters of that ballot.
func (p *poll) add(v *ballot) {
	for i := range p.ballots {
		b := &p.ballots[i]
		if b.purpose == v.purpose && b.flags == v.flags && slices.Equal(b.acknowledged, v.acknowledged) {
			at, _ := slices.BinarySearch(b.voters, v.voters[0])
			b.voters = slices.Insert(b.voters, at, v.voters[0])
			return
		}
	}
	p.ballots = append(p.ballots, *v)
}

// has reports whether the poll has the vote of a rank.
func (p *poll) has(rank int) bool {
	for i := range p.ballots {
		if _, found := slices.BinarySearch(p.ballots[i].voters, rank); found {
			return true
		}
	}
	return false
}

// count sends the complete polls and removes them. A poll is complete when every member on this node has
// voted, has ended or has left the job. If the rank in the parameter by has ended or left, count also sends the
// incomplete polls that have its vote: the relay has not told the server of this rank's end yet, and a vote that
// reaches the server after the end does not count. The relay keeps these polls and sends them again when they are
// complete, because the server ignores votes that it has counted. Callers hold gathering.
func (r *Relay) count(by int) error {
	for key, p := range r.polls {
		if !r.awaits(p) {
			delete(r.polls, key)
		} else if r.local[by] || !p.has(by) {
			continue
		}
		if err := r.up(by, p.append([]byte{byte(kindPoll)})); err != nil {
			return err
		}
	}
	return nil
}

// awaits reports whether a member on this node has neither voted nor ended nor left the job. Callers hold
// gathering.
func (r *Relay) awaits(p *poll) bool {
	for rank := range r.local {
		if _, member := slices.BinarySearch(p.members, rank); member && !p.has(rank) {
			return true
		}
	}
	return false
}
