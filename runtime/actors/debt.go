package actors

import "github.com/gorun-hpc/gorun/runtime/internal/engine"

// debt is credit of messages that were taken, to be returned to the inlet they came
// in by. It is returned together, because that costs an atomic addition: when the
// sender is to hear of it, or when the next message came in elsewhere. Who runs a
// mailbox owns it.
type debt struct {
	in        *inlet
	owed, due uint32
}

// incur adds the cost of a message.
func (d *debt) incur(in *inlet, cost uint32) {
	if in != d.in {
		d.settle()
		d.in, d.due = in, in.due()
	}
	if d.owed += cost; d.owed >= d.due {
		d.settle()
	}
}

// settle returns what is owed.
func (d *debt) settle() {
	if d.in != nil {
		d.in.repay(d.owed)
		d.in, d.owed = nil, 0
	}
}

// due is how much more has to be returned until the sender is told.
func (in *inlet) due() uint32 {
	returned := in.returned.Load() - in.told.Load()
	return engine.LinkWindow/2 - min(returned, engine.LinkWindow/2)
}
