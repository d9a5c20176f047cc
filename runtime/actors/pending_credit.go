package actors

import "github.com/gorun-hpc/gorun/runtime/internal/engine"

// pendingCredit is credit of messages that were taken, to be returned to the receive stream they came
// in by. It is returned together, because that costs an atomic addition: when the
// sender is to be told, or when the next message came in by another stream. The goroutine
// that runs a mailbox owns it.
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

// settle returns what is owed.
func (d *pendingCredit) settle() {
	if d.in != nil {
		d.in.repay(d.owed)
		d.in, d.owed = nil, 0
	}
}

// due is how much more has to be returned until the sender is told.
func (in *receiveStream) due() uint32 {
	returned := in.returned.Load() - in.told.Load()
	return engine.StreamWindow/2 - min(returned, engine.StreamWindow/2)
}

// actorOverhead is charged for every message besides its bytes: about what a
// receiver spends on one that waits.
const actorOverhead = 128

// costOf is what a message of n bytes takes of the credit of a stream. At most a
// quarter of the window, so that several long ones are in flight at a time; and a
// message that does not fit waits for bytes that the receiver will report, because
// it reports each half of the window.
func costOf(n int) uint32 {
	return uint32(min(n+actorOverhead, engine.StreamWindow/4))
}
