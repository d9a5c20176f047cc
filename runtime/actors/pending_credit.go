package actors

import "github.com/gorun-hpc/gorun/runtime/internal/engine"

// pendingCredit is credit of messages of one receive stream that were taken. It is returned
// together, because that costs an atomic addition: when a report to the sender is due, or when
// the next message belongs to another stream. The goroutine that runs a mailbox owns it.
type pendingCredit struct {
	in        *receiveStream
	owed, due uint32
}

// add adds the cost of a message.
func (d *pendingCredit) add(in *receiveStream, cost uint32) {
	if in != d.in {
		d.settle()
		d.in, d.due = in, in.due()
	}
	if d.owed += cost; d.owed >= d.due {
		d.settle()
	}
}

// settle returns the pending credit.
func (d *pendingCredit) settle() {
	if d.in != nil {
		d.in.repay(d.owed)
		d.in, d.owed = nil, 0
	}
}

// due is the credit that is missing until a report to the sender is due.
func (in *receiveStream) due() uint32 {
	returned := in.returned.Load() - in.told.Load()
	return engine.StreamWindow/2 - min(returned, engine.StreamWindow/2)
}

// actorOverhead is charged for every message besides its bytes: about the memory of the receiver
// for a message that waits.
const actorOverhead = 128

// costOf is the credit of a message of n bytes. It is at most a quarter of the window, so that
// several long messages can be in flight, and so that a message without credit waits for credit
// that the receiver will report: it reports each half of the window.
func costOf(n int) uint32 {
	return uint32(min(n+actorOverhead, engine.StreamWindow/4))
}
