package iwarp

import (
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// guard determines which messages a queue pair accepts from a peer that has not proved its identity.
//
// A guarded socket is read FPDU by FPDU, and no read goes beyond the end of an FPDU. On the
// passive side, the first message of the peer is the proof of its identity. The active side reads
// nothing. All further bytes stay in the kernel until the consumer calls Trust. So a stranger can fill
// one posted receive and the receive buffer of the socket, and nothing else.
type guard uint8

const (
	// guardNone accepts everything.
	guardNone guard = iota
	// guardSend accepts zero-length Writes and Reads (one of them may be the RTR), a Terminate message,
	// and one Send that invalidates no key. After the Send it changes to guardShut.
	guardSend
	// guardShut accepts nothing.
	guardShut
)

var _ provider.Guard = (*queuePair)(nil)

// guarded returns the guard with which a connection begins.
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

// guarded reports whether the current segment is allowed before the peer has proved its identity. A
// compressed segment is not allowed: no rank sends a compressed segment so early, and a stranger
// must not be able to pass data to the decoder.
func (r *receiver) guarded() bool {
	if r.head[0]&flagPacked != 0 {
		return false
	}
	switch r.opcode {
	case rdmap.Write:
		return r.payload == 0
	case rdmap.ReadRequestOpcode, rdmap.TerminateOpcode: // the length of a Read is checked later
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
