package actors

import "github.com/gorun-hpc/gorun/runtime/internal/engine"

// pendingCredit accumulates the credit of messages that an actor has taken from one receive stream. Each
// return of credit to the stream costs an atomic addition. Therefore the credit is returned in one sum. It is
// returned when a report to the sender is due, when the next message belongs to another stream, or when the turn
// of the actor ends. The goroutine that runs the mailbox owns the pendingCredit.
type pendingCredit struct {
	in *receiveStream
	// owed is the credit that is not returned yet. due is the value of owed at which a report to the
	// sender is due.
	owed, due uint32
}

// add adds the credit of a message of a receive stream.
func (d *pendingCredit) add(in *receiveStream, cost uint32) {
	if in != d.in {
		d.settle()
		d.in, d.due = in, in.due()
	}
	if d.owed += cost; d.owed >= d.due {
		d.settle()
	}
}

// settle returns the accumulated credit to the receive stream.
func (d *pendingCredit) settle() {
	if d.in != nil {
		d.in.repay(d.owed)
		d.in, d.owed = nil, 0
	}
}

// due returns the amount of credit that is still to be returned until a report to the sender is due. If several actors
// may get messages of the stream, it returns 0: an actor that keeps credit while it is at work could stop the messages
// for the others.
func (in *receiveStream) due() uint32 {
	if in.forwarded.Load() {
		return 0
	}
	returned := in.returned.Load() - in.told.Load()
	return engine.StreamWindow/2 - min(returned, engine.StreamWindow/2)
}

// actorOverhead is the credit that a message of the program in a stream consumes in addition to its
// bytes. It is approximately the memory, in bytes, that a waiting message takes at the receiver.
const actorOverhead = 128

// costOf returns the credit that a message of n bytes consumes: at most a quarter of the window. This
// bound has two reasons. First, several long messages can be in flight. Second, the receiver reports
// returned credit only when the credit amounts to half of the window. While a message waits for
// credit, at least three quarters of the window are outstanding, so that a report will follow.
func costOf(n int) uint32 {
	return uint32(min(n+actorOverhead, engine.StreamWindow/4))
}
