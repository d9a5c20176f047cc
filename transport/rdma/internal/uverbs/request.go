package uverbs

import "math"

// Opcode is the kind of a request to a send queue (enum ibv_wr_opcode).
type Opcode uint8

// The requests.
const (
	OpWrite          Opcode = 0
	OpWriteImmediate Opcode = 1
	OpSend           Opcode = 2
	OpSendImmediate  Opcode = 3
	OpRead           Opcode = 4
	OpCompareSwap    Opcode = 5
	OpFetchAdd       Opcode = 6
	OpSendInvalidate Opcode = 9
)

// Flags modify a request (enum ibv_send_flags).
type Flags uint8

// The flags.
const (
	// FlagFence delays the request until all earlier Reads and atomics are complete. With siw, a
	// Read with FlagFence is refused with ErrRequest.
	FlagFence Flags = 1
	// FlagSignalled makes the request generate a completion when it succeeds.
	FlagSignalled Flags = 2
	// FlagSolicited marks the peer's completion as solicited.
	FlagSolicited Flags = 4
	// FlagInline makes the post copy the bytes of the segments into the work request. So the bytes
	// need not be in a registered memory region.
	FlagInline Flags = 8
)

// Segment is a scatter/gather entry of a request: local memory, in the memory region that
// LKey names.
type Segment struct {
	Data []byte
	LKey uint32
}

// SendRequest is a request to a send queue.
type SendRequest struct {
	// ID is returned in the Completion of the request.
	ID       uint64
	Op       Opcode
	Flags    Flags
	Segments []Segment
	// RemoteAddress and RKey name the peer's memory for Write, Read and the atomics.
	RemoteAddress uint64
	RKey          uint32
	// Immediate is the immediate data of OpWriteImmediate and OpSendImmediate.
	Immediate uint32
	// Invalidate is the peer's key that OpSendInvalidate invalidates.
	Invalidate uint32
	// Compare and Swap are the operands of OpCompareSwap. OpFetchAdd adds the value in Compare.
	Compare, Swap uint64
}

// ReceiveRequest is memory for one message.
type ReceiveRequest struct {
	ID       uint64
	Segments []Segment
}

// Status says how a request ended (enum ibv_wc_status).
type Status uint8

// The statuses.
const (
	StatusSuccess          Status = 0
	StatusLocalLength      Status = 1
	StatusLocalOperation   Status = 2
	StatusLocalProtection  Status = 4
	StatusFlushed          Status = 5
	StatusBadResponse      Status = 7
	StatusLocalAccess      Status = 8
	StatusRemoteInvalid    Status = 9
	StatusRemoteAccess     Status = 10
	StatusRemoteOperation  Status = 11
	StatusRetries          Status = 12
	StatusReceiverNotReady Status = 13
	StatusGeneral          Status = 21
)

// Completed is the kind of operation that has completed (enum ibv_wc_opcode). It is valid only
// with StatusSuccess.
type Completed uint8

// The kinds of completed operations.
const (
	CompletedSend             Completed = 0
	CompletedWrite            Completed = 1
	CompletedRead             Completed = 2
	CompletedCompareSwap      Completed = 3
	CompletedFetchAdd         Completed = 4
	CompletedReceive          Completed = 128
	CompletedReceiveImmediate Completed = 129
)

// Completion is an entry of a completion queue.
type Completion struct {
	// ID is the ID of the request.
	ID uint64
	// Length is the number of bytes that were received, sent, written or read.
	Length uint32
	// QueuePair is the number of the queue pair.
	QueuePair uint32
	// Immediate is valid if HasImmediate is true.
	Immediate    uint32
	Status       Status
	Op           Completed
	HasImmediate bool
}

// Long reports whether the segments of a request are together longer than 2 GiB - 1 byte. The length of a segment has
// 32 bits, some devices take a length of 0 for 2 GiB, and siw adds the lengths in an int (siw_check_sgl_tx).
func Long(segments []Segment) bool { return total(segments) > math.MaxInt32 }

// total is the length of all segments.
func total(segments []Segment) int {
	n := 0
	for i := range segments {
		n += len(segments[i].Data)
	}
	return n
}
