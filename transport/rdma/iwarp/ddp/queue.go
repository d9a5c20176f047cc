package ddp

// Queue checks the untagged segments that arrive for one queue number (RFC 5041
// sections 4.3 and 7.1): messages in order of their sequence number, segments in
// order of their offset. The zero value awaits no message; see NewQueue.
type Queue struct {
	msn  uint32 // of the message that is under way, else of the next one
	mo   uint32 // where the next segment of it begins
	open bool   // a message is under way
}

// FirstMSN is the sequence number of the first message of every queue.
const FirstMSN = 1

// NewQueue returns a queue that awaits the message msn, FirstMSN on a fresh
// stream.
func NewQueue(msn uint32) Queue { return Queue{msn: msn} }

// Awaits reports whether the queue awaits the first segment of the message msn.
func (q *Queue) Awaits(msn uint32) bool { return q.msn == msn && !q.open }

// Pass accounts for a message that came in one segment, as Advance does for each.
func (q *Queue) Pass() { q.msn++ }

// Check reports what is wrong with the segment as a next one of the queue: nil,
// ErrSequence, ErrOffset, or ErrTooLong if it ends beyond room, the length of the
// buffer of its message. It changes nothing.
//
// Whether there is a buffer at all is for the caller to know, before: the answer
// then is ErrNoBuffer.
func (q *Queue) Check(h *Untagged, payload, room int) error {
	switch {
	case h.MSN != q.msn:
		return ErrSequence
	case h.MO != q.mo:
		return ErrOffset
	case uint64(h.MO)+uint64(payload) > uint64(room):
		return ErrTooLong
	}
	return nil
}

// Advance accounts for a segment that passed Check and has been placed. It
// returns the length of the message and true with the last segment.
//
// An offset that passes 2^32 shows at the next segment, whose offset cannot fit;
// a message is shorter than that (RFC 5041 section 5.2).
func (q *Queue) Advance(h *Untagged, payload int) (int, bool) {
	end := int(h.MO) + payload
	if h.Last {
		q.msn++ // wraps from 2^32-1 to 0
		q.mo, q.open = 0, false
		return end, true
	}
	q.mo, q.open = uint32(end), true
	return end, false
}
