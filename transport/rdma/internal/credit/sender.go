package credit

import "fmt"

// sender is the side of a Flow that sends eager frames.
type sender struct {
	slots  uint16 // frames that may be unacknowledged
	next   uint16 // sequence number of the next new frame
	acked  uint16 // all frames before this sequence number are acknowledged
	cursor uint16 // next frame to send on this connection; acked <= cursor <= next
	sent   uint16 // all frames before it were sent, on this or an earlier connection; cursor <= sent <= next
	frames uint16 // eager frames sent on this connection
	limit  uint16 // upper bound of the field frames
}

// connect starts a connection with the credits that the peer's record grants.
func (s *sender) connect(credits uint16) {
	s.cursor, s.frames, s.limit = s.acked, 0, credits
}

// credits returns the number of further frames that may be sent on the connection.
func (s *sender) credits() uint16 { return s.limit - s.frames }

// take returns the sequence number of a new frame. It returns false if no slot is free.
func (s *sender) take() (uint16, bool) {
	if s.next-s.acked == s.slots {
		return 0, false
	}
	s.next++
	return s.next - 1, true
}

// put returns the sequence number of the next frame to send and counts it as sent. It returns false
// if no frame is to be sent, or if there is no credit.
func (s *sender) put() (uint16, bool) {
	if s.cursor == s.next || s.frames == s.limit {
		return 0, false
	}
	s.cursor++
	s.frames++
	if before(s.sent, s.cursor) {
		s.sent = s.cursor
	}
	return s.cursor - 1, true
}

// confirm checks and records the acknowledgement and the limit in a word of the peer, and returns
// the number of slots that became free.
func (s *sender) confirm(w Word) (int, error) {
	freed := w.ack() - s.acked
	switch {
	case freed > s.sent-s.acked:
		return 0, fmt.Errorf("%w: frames before %d acknowledged, [%d, %d) are outstanding", ErrViolation, w.ack(), s.acked, s.sent)
	case before(w.limit(), s.limit) || w.limit()-s.frames > WindowMax:
		return 0, fmt.Errorf("%w: the limit went from %d to %d with %d frames sent", ErrViolation, s.limit, w.limit(), s.frames)
	}
	s.note(w)
	return int(freed), nil
}

// sound reports whether confirm would accept a word.
func (s *sender) sound(w Word) bool {
	return w.ack()-s.acked <= s.sent-s.acked && !before(w.limit(), s.limit) && w.limit()-s.frames <= WindowMax
}

// note records the acknowledgement and the limit of a word for which sound returns true.
func (s *sender) note(w Word) {
	s.acked, s.limit = w.ack(), w.limit()
	if before(s.cursor, s.acked) {
		s.cursor = s.acked // the peer has received the frames before acked on an earlier connection
	}
}
