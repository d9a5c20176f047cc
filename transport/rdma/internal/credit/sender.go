package credit

import "fmt"

// sender is the side of a Flow that sends eager frames.
type sender struct {
	slots  uint16 // frames that may be unacknowledged
	next   uint16 // sequence number of the next new frame
	acked  uint16 // all before are acknowledged
	cursor uint16 // next to be put on this connection; acked <= cursor <= next
	frames uint16 // eager frames put on this connection
	limit  uint16 // what frames may reach
}

// connect starts a connection with the credits of the peer's record.
func (s *sender) connect(credits uint16) {
	s.cursor, s.frames, s.limit = s.acked, 0, credits
}

// credits is how many more frames may be put on the connection.
func (s *sender) credits() uint16 { return s.limit - s.frames }

// take gives a new frame its sequence number.
func (s *sender) take() (uint16, bool) {
	if s.next-s.acked == s.slots {
		return 0, false
	}
	s.next++
	return s.next - 1, true
}

// put moves on to the next frame for the connection.
func (s *sender) put() (uint16, bool) {
	if s.cursor == s.next || s.frames == s.limit {
		return 0, false
	}
	s.cursor++
	s.frames++
	return s.cursor - 1, true
}

// confirm takes what the peer acknowledges and allows, and returns how many slots
// became free.
func (s *sender) confirm(w Word) (int, error) {
	freed := w.ack() - s.acked
	switch {
	case freed > s.next-s.acked:
		return 0, fmt.Errorf("%w: frames before %d acknowledged, %d to %d are outstanding", ErrViolation, w.ack(), s.acked, s.next)
	case before(w.limit(), s.limit) || w.limit()-s.frames > WindowMax:
		return 0, fmt.Errorf("%w: the limit went from %d to %d with %d frames sent", ErrViolation, s.limit, w.limit(), s.frames)
	}
	s.note(w)
	return int(freed), nil
}

// sound reports whether hear takes a word.
func (s *sender) sound(w Word) bool {
	return w.ack()-s.acked <= s.next-s.acked && !before(w.limit(), s.limit) && w.limit()-s.frames <= WindowMax
}

// note takes what a sound word says.
func (s *sender) note(w Word) {
	s.acked, s.limit = w.ack(), w.limit()
	if before(s.cursor, s.acked) {
		s.cursor = s.acked // the peer has it from the connection before
	}
}
