package bootstrap

import "fmt"

// Vote gives this rank's vote in an agreement; a notice Decided has the result. A rank votes once
// in a round. In a world of one there is nobody to ask. The vote of a generation of the job that the
// session has left is ErrRenewed, and counts nowhere: communicators of different generations may
// have the same identity.
func (s *Session) Vote(v Vote) error {
	return s.ballot(v.Generation, kindVote, pollOf(s.Job().Rank, &v).append(nil))
}

// Revoke tells every rank of the job that a communicator is broken. When it has returned nil the
// launcher does so even if this rank ends. Of generations as in Vote.
func (s *Session) Revoke(r Revocation) error {
	return s.ballot(r.Generation, kindRevoke, r.append(nil))
}

// ballot sends a frame of at most rankFrameMax bytes, if there is an agent, in one generation of
// the job alone. What it sends before the session has entered a later one, the launcher ignores there.
func (s *Session) ballot(generation int, k kind, body []byte) error {
	if s.conn == nil {
		return errNoAgent
	}
	if len(body) >= rankFrameMax {
		return fmt.Errorf("bootstrap: frame of %d bytes for a communicator, at most %d allowed", len(body), rankFrameMax)
	}
	s.sending.Lock()
	defer s.sending.Unlock()
	if s.job.Generation != generation {
		return ErrRenewed
	}
	return s.write(k, body)
}
