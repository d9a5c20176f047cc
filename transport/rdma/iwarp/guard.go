package iwarp

import (
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// guard is what a queue pair takes of a peer that has not proved what it is.
//
// A guarded socket is read FPDU by FPDU, and not a byte further, so that nothing of what
// follows the proof is looked at before the consumer says so: it waits in the kernel, whose
// buffer is what a stranger can fill.
type guard uint8

const (
	guardNone guard = iota
	// guardSend: one Send, and before it the RTR, which moves nothing.
	guardSend
	// guardShut: nothing.
	guardShut
)

var _ provider.Guard = (*queuePair)(nil)

// guarded is how a connection begins.
func (p *queuePair) guarded() guard {
	switch {
	case !p.config.Guarded:
		return guardNone
	case p.active:
		return guardShut
	default:
		return guardSend
	}
}

// guarded reports whether the segment under way may come before the proof. A compressed one may
// not: no rank sends one so early, and the decoder is more than a stranger need reach.
func (r *receiver) guarded() bool {
	if r.head[0]&flagPacked != 0 {
		return false
	}
	switch r.opcode {
	case rdmap.Write:
		return r.payload == 0
	case rdmap.ReadRequestOpcode, rdmap.TerminateOpcode: // the length of a Read is looked at later
		return true
	default:
		return !r.opcode.Tagged() && !r.opcode.Invalidates()
	}
}

// Trust implements provider.Guard.
func (p *queuePair) Trust() {
	if p.rx.guard == guardNone || p.fd < 0 {
		return
	}
	p.rx.guard = guardNone
	p.readable = true
	p.device.later(p)
}
