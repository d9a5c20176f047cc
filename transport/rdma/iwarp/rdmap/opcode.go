package rdmap

import (
	"fmt"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
)

// Opcode is the kind of a message (RFC 5040 section 4.3, RFC 7306 section 8).
type Opcode uint8

// The opcodes.
const (
	Write                   Opcode = 0x0
	ReadRequestOpcode       Opcode = 0x1
	ReadResponse            Opcode = 0x2
	Send                    Opcode = 0x3
	SendInvalidate          Opcode = 0x4
	SendSolicited           Opcode = 0x5
	SendSolicitedInvalidate Opcode = 0x6
	TerminateOpcode         Opcode = 0x7
	Immediate               Opcode = 0x8
	ImmediateSolicited      Opcode = 0x9
	AtomicRequest           Opcode = 0xa
	AtomicResponse          Opcode = 0xb

	// opcodeMax is the last opcode that this package implements.
	opcodeMax = TerminateOpcode
)

// The untagged queues (RFC 5040 section 4.2; RFC 7306 adds one for the responses
// of atomics).
const (
	QueueSend      = 0
	QueueRead      = 1
	QueueTerminate = 2

	// Queues is the number of queues in use.
	Queues = 3
)

// The control octet, second of every segment (RFC 5040 section 4.1):
//
//	0xc0  RV      version
//	0x30          reserved: sent as zero, ignored on receipt
//	0x0f  opcode
const (
	versionShift = 6
	opcodeMask   = 0x0f

	// Version is what we send. Version 0 is that of the RDMA Consortium, whose
	// messages are the same, and has to be taken (RFC 5040 section 4.1).
	Version = 1
)

// Control returns the control octet of a message of the kind.
func (o Opcode) Control() uint8 { return Version<<versionShift | uint8(o) }

// Tagged reports whether messages of the kind travel in tagged segments.
func (o Opcode) Tagged() bool { return o == Write || o == ReadResponse }

// Queue returns the untagged queue of the kind.
func (o Opcode) Queue() uint32 {
	switch o {
	case ReadRequestOpcode:
		return QueueRead
	case TerminateOpcode:
		return QueueTerminate
	default:
		return QueueSend
	}
}

// Invalidates reports whether the header carries an STag to invalidate.
func (o Opcode) Invalidates() bool { return o == SendInvalidate || o == SendSolicitedInvalidate }

// Solicited reports whether the message asks for an event at the receiver.
func (o Opcode) Solicited() bool { return o == SendSolicited || o == SendSolicitedInvalidate }

// SendOpcode returns which of the four Sends it is.
func SendOpcode(solicited, invalidate bool) Opcode {
	switch {
	case solicited && invalidate:
		return SendSolicitedInvalidate
	case solicited:
		return SendSolicited
	case invalidate:
		return SendInvalidate
	default:
		return Send
	}
}

// String returns the name of RFC 5040.
func (o Opcode) String() string {
	names := [...]string{
		"RDMA Write", "RDMA Read Request", "RDMA Read Response", "Send", "Send with Invalidate", "Send with Solicited Event",
		"Send with Solicited Event and Invalidate", "Terminate", "Immediate Data", "Immediate Data with Solicited Event",
		"Atomic Request", "Atomic Response",
	}
	if int(o) < len(names) {
		return names[o]
	}
	return fmt.Sprintf("opcode %#x", uint8(o))
}

// CheckControl returns the kind of message that the first two octets of a segment
// announce. They are enough for the checks of both versions, of the opcode and of
// its T bit, so that a bad segment is known before the rest of it has arrived.
func CheckControl(first, second byte) (Opcode, error) {
	if err := ddp.CheckVersion(first); err != nil {
		return 0, err
	}
	o := Opcode(second & opcodeMask)
	switch {
	case second>>versionShift > Version:
		return 0, ErrVersion
	case o > opcodeMax, o.Tagged() != ddp.Tag(first):
		return o, ErrOpcode
	}
	return o, nil
}

// CheckQueue reports whether an untagged message of the kind may come on the
// queue: ddp.ErrQueue if there is no such queue, ErrOpcode if the kind belongs to
// another.
func CheckQueue(o Opcode, qn uint32) error {
	switch {
	case qn >= Queues:
		return ddp.ErrQueue
	case o.Queue() != qn:
		return ErrOpcode
	}
	return nil
}
