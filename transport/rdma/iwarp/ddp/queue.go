package ddp

// Queue checks the untagged segments that arrive for one queue number (RFC 5041 sections 4.3 and
// 7.1): messages must arrive in the order of their sequence numbers, segments in the order of their
// offsets. The zero value awaits no message; see NewQueue.
type Queue struct {
	msn  uint32 // of the current message, or of the next one if there is none
	mo   uint32 // offset of its next segment
	open bool   // the first segment of a message has arrived, the last one has not
}

// FirstMSN is the sequence number of the first message of every queue.
const FirstMSN = 1

// NewQueue returns a queue that awaits the message msn, FirstMSN on a fresh
// stream.
func NewQueue(msn uint32) Queue { return Queue{msn: msn} }

// Awaits reports whether the queue awaits the first segment of the message msn.
func (q *Queue) Awaits(msn uint32) bool { return q.msn == msn && !q.open }

// Pass accounts for a message of one segment. It replaces Advance for such a message.
func (q *Queue) Pass() { q.msn++ }

// Check reports whether the segment is valid as the next one of the queue. The error is
// ErrSequence, ErrOffset, or ErrTooLong if the segment ends beyond room, the length of the buffer
// of its message. Check changes nothing.
//
// The caller must know before whether there is a buffer at all; if not, the error is ErrNoBuffer.
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

// Advance accounts for a segment that has passed Check and has been placed. It returns the length
// of the message so far, and true if the segment is the last one of the message.
//
// A message must be shorter than 2^32 (RFC 5041 section 5.2). Check ensures this by room; otherwise
// the offset of the next segment would wrap.
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
