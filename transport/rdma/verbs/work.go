package verbs

import "github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"

// Opcode is the kind of a work request.
type Opcode = provider.Opcode

// The work requests.
const (
	// OpSend is a message into a receive of the peer. FlagSolicited and
	// FlagInvalidate make its four kinds.
	OpSend = provider.OpSend
	// OpWrite writes local memory to remote memory. With FlagImmediate it also takes a
	// receive of the peer, whose completion says that the bytes are there.
	OpWrite = provider.OpWrite
	// OpRead reads remote memory into local memory.
	OpRead = provider.OpRead
	// OpFetchAdd adds WorkRequest.Swap to the 8 bytes of the peer at RemoteAddress, which is
	// a multiple of 8, as one step as seen by all requests of its adapter. What was there
	// before comes into the only segment, of 8 bytes. The peer's access must have
	// AccessRemoteAtomic. Where Attributes.Atomics is not set it is ErrModelNotSupported.
	OpFetchAdd = provider.OpFetchAdd
	// OpCompareSwap replaces the 8 bytes by WorkRequest.Swap if they equal
	// WorkRequest.Compare, and is like OpFetchAdd in all else.
	OpCompareSwap = provider.OpCompareSwap
	// OpBind binds a memory window (RMR). Adapters without MemoryWindows refuse it
	// with ErrModelNotSupported; all of today's do.
	OpBind = provider.OpBind
	// OpReceive and OpReceiveWrite are the opcodes in the Completion of a receive, which are
	// not posted: a Send filled it, or a Write with FlagImmediate took it.
	OpReceive      = provider.OpReceive
	OpReceiveWrite = provider.OpReceiveWrite
)

// RequestFlags modify a work request.
type RequestFlags = provider.RequestFlags

const (
	// FlagUnsignalled makes no completion when the request succeeds
	// (DAT_COMPLETION_SUPPRESS_FLAG; a verbs request without IBV_SEND_SIGNALED). Its
	// place in the queue is free again when a later request completes.
	FlagUnsignalled = provider.FlagUnsignalled
	// FlagQuiet makes a completion that wakes no goroutine
	// (DAT_COMPLETION_UNSIGNALLED_FLAG). The endpoint's flags for the stream must be
	// CompletionUnsignalled.
	FlagQuiet = provider.FlagQuiet
	// FlagSolicited makes the completion of the peer's receive wake waiters there.
	FlagSolicited = provider.FlagSolicited
	// FlagFence starts the request only when all earlier Reads and atomics are complete.
	FlagFence = provider.FlagFence
	// FlagInline copies the bytes during the post; the segments need no region and
	// belong to the caller again when the post returns. For OpSend and OpWrite.
	FlagInline = provider.FlagInline
	// FlagInvalidate on OpSend ends the access that the peer granted by the key in
	// WorkRequest.Invalidate.
	FlagInvalidate = provider.FlagInvalidate
	// FlagMore says that more requests follow at once: this one need not begin before a
	// request without the flag is posted to the endpoint, the adapter makes progress,
	// or Adapter.Begin is called. A provider moves together what begins together.
	FlagMore = provider.FlagMore
	// FlagRoom says that the only segment of a Send or of a receive has room for the
	// provider around the message: Attributes.Headroom bytes before it and
	// Attributes.Tailroom behind, which count for no length. Until the request completes
	// the provider may write to that room, and to all of a receive, which then holds the
	// message where the room ends. So headers and message are one piece of memory.
	// Its region needs AccessLocalWrite.
	FlagRoom = provider.FlagRoom
	// FlagImmediate on OpSend and OpWrite carries WorkRequest.Immediate to the peer's
	// completion. A Send with it cannot have FlagInvalidate; a Write with it may have
	// FlagSolicited. Where Attributes.ImmediateData is not set it is ErrModelNotSupported.
	FlagImmediate = provider.FlagImmediate
)

// Segment is local memory of a work request: bytes that lie within a registered
// region, and the region's local key. An empty segment is legal and not checked.
type Segment = provider.Segment

// setSegments makes a list, in memory that has room for it, a copy of another. Most have
// one segment, for which a call of the runtime would be longer than all the rest.
func setSegments(to, from []Segment) []Segment {
	if len(from) != 1 {
		return append(to[:0], from...)
	}
	to = to[:1]
	to[0] = from[0]
	return to
}

// dropSegments empties a list and lets the collector have the memory.
func dropSegments(list []Segment) []Segment {
	if len(list) == 1 {
		list[0].Data = nil
	} else {
		clear(list)
	}
	return list[:0]
}

// RemoteRegion names memory of a peer. It is plain data, made by
// MemoryRegion.Remote and carried to the peer in a message.
type RemoteRegion struct {
	Address uint64
	RKey    uint32
	Length  int
}

// WorkRequest is a Send, Write, Read or atomic. The post copies it, the list of segments
// included; the bytes stay in use until the request completes.
type WorkRequest struct {
	// ID comes back in the Completion. Package verbs does not interpret it.
	ID    uint64
	Op    Opcode
	Flags RequestFlags
	// Segments are the bytes to send or write, or to read into, in order. The total
	// may be 0 and must not exceed the endpoint's MaxMessage or MaxRDMA.
	Segments []Segment
	// RemoteAddress and RKey name the peer's memory of a Write, Read or atomic. They are ignored
	// when the total is 0.
	RemoteAddress uint64
	RKey          uint32
	// Invalidate is the peer's key of FlagInvalidate, Immediate the number of FlagImmediate.
	Invalidate, Immediate uint32
	// Compare and Swap belong to OpCompareSwap, Swap also to OpFetchAdd.
	Compare, Swap uint64
}

// ReceiveRequest is memory for one message of the peer. The regions need
// AccessLocalWrite.
type ReceiveRequest struct {
	// ID comes back in the Completion.
	ID uint64
	// Flags may have FlagRoom, and FlagQuiet if the endpoint's ReceiveFlags are
	// CompletionUnsignalled.
	Flags    RequestFlags
	Segments []Segment
}
