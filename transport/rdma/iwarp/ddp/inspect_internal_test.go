package ddp

// MSN returns the sequence number of the message in progress. Between messages it returns the sequence
// number of the next message.
func (q *Queue) MSN() uint32 { return q.msn }

// Open reports whether a message is in progress.
func (q *Queue) Open() bool { return q.open }
