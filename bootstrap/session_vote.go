package bootstrap

import "fmt"

// Vote sends this rank's vote in an agreement. The session gets the result as a notice Decided. A rank votes
// once in each round of a communicator. In a world of one, Vote returns an error. If v.Generation is not the
// session's generation of the job, Vote returns ErrRenewed and sends nothing, because communicators of
// different generations may have the same identity.
func (s *Session) Vote(v Vote) error {
	return s.ballot(v.Generation, kindVote, pollOf(s.Job().Rank, &v).append(nil))
}

// Revoke tells every rank of the job that a communicator is broken. After Revoke has returned nil, the
// launcher tells the ranks even if this rank ends. If r.Generation is not the session's generation of the
// job, Revoke returns ErrRenewed and sends nothing.
func (s *Session) Revoke(r Revocation) error {
	return s.ballot(r.Generation, kindRevoke, r.append(nil))
}

// ballot sends a frame of at most rankFrameMax bytes. It returns an error if there is no agent or if the
// session is not in the given generation of the job. If the launcher is in a later generation than the
// session, the launcher ignores the frame.
func (s *Session) ballot(generation int, k kind, body []byte) error {
	if s.conn == nil {
		return errNoAgent
	}
	if len(body) >= rankFrameMax {
		return fmt.Errorf("bootstrap: frame with a body of %d bytes for a communicator, fewer than %d allowed", len(body), rankFrameMax)
	}
	s.sending.Lock()
	defer s.sending.Unlock()
	if s.job.Generation != generation {
		return ErrRenewed
	}
	return s.write(k, body)
}
