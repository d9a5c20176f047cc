package ddp

// MSN returns the sequence number of the message under way or, between messages,
// of the next one.
func (q *Queue) MSN() uint32 { return q.msn }

// Open reports whether a message is under way.
func (q *Queue) Open() bool { return q.open }
