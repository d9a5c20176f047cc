package ddp

// Queue checks the untagged segments that arrive for one queue number (RFC 5041 sections 4.3 and
// 7.1). Messages must arrive in the order of their sequence numbers. The segments of a message must
// arrive in the order of their offsets. The zero value is not ready for use. NewQueue makes a
// Queue.
type Queue struct {
	msn  uint32 // sequence number of the current message, or of the next message if there is no current one
	mo   uint32 // offset of the next segment of the message
	open bool   // the first segment of a message has arrived, but not the last one
}

// FirstMSN is the sequence number of the first message of every queue.
const FirstMSN = 1

// NewQueue returns a queue that awaits the message with the sequence number msn. On a new stream
// msn is FirstMSN.
func NewQueue(msn uint32) Queue { return Queue{msn: msn} }

// Awaits reports whether the queue awaits the first segment of the message with the sequence
// number msn.
func (q *Queue) Awaits(msn uint32) bool { return q.msn == msn && !q.open }

// Pass does the same as Advance for a message of one segment.
func (q *Queue) Pass() { q.msn++ }

// Check reports whether the segment is valid as the next segment of the queue. The argument room
// is the length of the buffer of the message. The error is ErrSequence, ErrOffset, or ErrTooLong.
// ErrTooLong means that the segment ends beyond the buffer. Check changes no state.
//
// Check does not know whether there is a buffer for the message. If there is none, the caller must
// report ErrNoBuffer.
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
// of the message so far, and true if the segment is the last segment of the message.
//
// A message must be shorter than 2^32 octets (RFC 5041 section 5.2), because otherwise the offset
// of the next segment would wrap. Check ensures this limit if its argument room is the length of a
// buffer that is shorter than 2^32 octets.
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
