package rdmap

import "github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"

// Opcode is the kind of message (RFC 5040 section 4.1).
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

	// opcodeMax is the last opcode that this package implements.
	opcodeMax = TerminateOpcode
)

// The untagged queues (RFC 5040 section 4.1). RFC 7306 adds a queue for the responses to atomics.
const (
	QueueSend      = 0
	QueueRead      = 1
	QueueTerminate = 2

	// Queues is the number of queues in use.
	Queues = 3
)

// The control octet, which is the second octet of every segment (RFC 5040 section 4.1):
//
//	0xc0  RV      version
//	0x30          reserved: sent as zero, ignored on receipt
//	0x0f  opcode
const (
	versionShift = 6
	opcodeMask   = 0x0f

	// Version is the version that this side sends. Version 0 is the version of the RDMA Consortium.
	// Version 0 has the same messages as version 1, and this side has to accept them (RFC 5040
	// section 4.1).
	Version = 1
)

// Control returns the control octet of a message of this kind.
func (o Opcode) Control() uint8 { return Version<<versionShift | uint8(o) }

// Tagged reports whether messages of this kind travel in tagged segments.
func (o Opcode) Tagged() bool { return o == Write || o == ReadResponse }

// Queue returns the number of the untagged queue for messages of this kind.
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

// Invalidates reports whether the header contains an STag to invalidate.
func (o Opcode) Invalidates() bool { return o == SendInvalidate || o == SendSolicitedInvalidate }

// Solicited reports whether the message asks for an event at the receiver.
func (o Opcode) Solicited() bool { return o == SendSolicited || o == SendSolicitedInvalidate }

// SendOpcode returns the opcode of one of the four kinds of Send.
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

// CheckControl returns the kind of message that the first two octets of a segment announce. These
// two octets are enough to check the versions of DDP and RDMAP, the opcode, and whether the T bit
// matches the opcode. So an invalid segment is detected before the rest of the segment has arrived.
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

// CheckQueue reports whether an untagged message of kind o may arrive on the queue qn. The error is
// ddp.ErrQueue if there is no queue qn, and ErrOpcode if messages of kind o belong to another
// queue.
func CheckQueue(o Opcode, qn uint32) error {
	switch {
	case qn >= Queues:
		return ddp.ErrQueue
	case o.Queue() != qn:
		return ErrOpcode
	}
	return nil
}
