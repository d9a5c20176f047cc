package bootstrap

import (
	"fmt"
	"slices"
)

// takeVote acts on a vote frame of a rank. The body of the frame is a poll with one vote.
func (s *Server) takeVote(rank int, body []byte) error {
	p, err := parsePoll(body, len(s.members))
	if err == nil && !p.isOf(rank) {
		err = fmt.Errorf("bootstrap: votes of other ranks: %w", ErrMalformed)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.members[rank].stale {
		return nil // a new generation has begun since the frame arrived
	}
	d, err := s.council.takeOf(rank, p)
	if d != nil {
		s.decided(d)
	}
	return err
}

// isOf reports whether a poll has exactly one vote, and that vote is the vote of rank.
func (p *poll) isOf(rank int) bool {
	return len(p.ballots) == 1 && len(p.ballots[0].voters) == 1 && p.ballots[0].voters[0] == rank
}

// takePoll acts on a poll frame that a relay has sent. The frame has votes of ranks of the relay's node. The
// parameter by is a rank of this node.
func (s *Server) takePoll(by int, body []byte) error {
	p, err := parsePoll(body, len(s.members))
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range p.ballots { // drop votes that the relay gathered in an earlier generation
		b := &p.ballots[i]
		b.voters = slices.DeleteFunc(b.voters, func(rank int) bool { return s.members[rank].stale })
		for _, rank := range b.voters {
			if !s.beside(by, rank) {
				return fmt.Errorf("rank %d: bootstrap: its vote comes from another node: %w", rank, ErrMalformed)
			}
		}
	}
	d, err := s.council.take(p)
	if d != nil {
		s.decided(d)
	}
	return err
}

// decided sends each decision to the members of the communicator that have neither ended nor left. If several
// of them have the same link, the decision is sent over the link once. The relays pass it on to all of their
// ranks, and therefore also to ranks that are not members. Callers hold mu.
func (s *Server) decided(decisions ...*Decision) {
	for _, d := range decisions {
		frame := appendFrame(nil, kindDecided, d.append(nil))
		told := map[*Link]bool{}
		for _, rank := range d.members {
			m := &s.members[rank]
			switch {
			case m.state > RankJoined:
			case m.linked == nil:
				m.out.push(frame)
			case !told[m.linked]:
				told[m.linked] = true
				m.linked.out.push(frame)
			}
		}
	}
}

// takeRevoke passes the first revocation of a communicator on to all ranks. Ranks that are not members
// ignore it.
func (s *Server) takeRevoke(rank int, body []byte) error {
	r, err := parseRevocation(body, len(s.members))
	if err != nil {
		return err
	}
	r.Rank = rank
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.members[rank].stale {
		return nil
	}
	if s.council.Revoke(r.Comm) {
		s.tell(kindRevoked, r.append(nil), RankStarted)
	}
	return nil
}
