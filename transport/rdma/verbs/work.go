package verbs

import "github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"

// Opcode is the kind of a work request.
type Opcode = provider.Opcode

// The kinds of work requests.
const (
	// OpSend sends a message, which fills a receive of the peer. Without FlagImmediate there are four
	// kinds of Send, because FlagSolicited and FlagInvalidate can each be set or not.
	OpSend = provider.OpSend
	// OpWrite writes local memory to remote memory. With FlagImmediate it also takes a
	// receive of the peer, whose completion reports that the bytes have arrived.
	OpWrite = provider.OpWrite
	// OpRead reads remote memory into local memory.
	OpRead = provider.OpRead
	// OpFetchAdd adds WorkRequest.Swap to 8 bytes of the peer's memory. Their address,
	// RemoteAddress, must be a multiple of 8. The addition is atomic with respect to all other atomics
	// that the peer's adapter serves. The request has one segment of 8 bytes, which receives the
	// value before the addition. The peer's region needs AccessRemoteAtomic. If Attributes.Atomics
	// is false, the post fails with ErrModelNotSupported.
	OpFetchAdd = provider.OpFetchAdd
	// OpCompareSwap replaces 8 bytes of the peer's memory by WorkRequest.Swap if they equal
	// WorkRequest.Compare. The segment receives the value before the replacement. In all other
	// respects OpCompareSwap is like OpFetchAdd.
	OpCompareSwap = provider.OpCompareSwap
	// OpBind binds a memory window (RMR). The post always fails with ErrModelNotSupported, because no
	// adapter supports memory windows (Attributes.MemoryWindows).
	OpBind = provider.OpBind
	// OpReceive and OpReceiveWrite cannot be posted. They are the opcodes in the Completion of a
	// receive: OpReceive if a Send filled the receive, and OpReceiveWrite if a Write with
	// FlagImmediate used the receive.
	OpReceive      = provider.OpReceive
	OpReceiveWrite = provider.OpReceiveWrite
)

// RequestFlags modify a work request.
type RequestFlags = provider.RequestFlags

const (
	// FlagUnsignalled suppresses the completion of a request that succeeds
	// (DAT_COMPLETION_SUPPRESS_FLAG; in libibverbs a request without IBV_SEND_SIGNALED). The
	// request's place in the send queue may stay occupied until a later request completes.
	FlagUnsignalled = provider.FlagUnsignalled
	// FlagQuiet makes the completion of a request or receive that succeeds wake no goroutine
	// (DAT_COMPLETION_UNSIGNALLED_FLAG). The endpoint's completion flags for the stream must
	// be CompletionUnsignalled.
	FlagQuiet = provider.FlagQuiet
	// FlagSolicited makes the completion of the peer's receive wake the peer's waiters, even if the
	// peer uses CompletionSolicitedWait.
	FlagSolicited = provider.FlagSolicited
	// FlagFence starts the request only when all earlier Reads and atomics are complete.
	FlagFence = provider.FlagFence
	// FlagInline makes the post copy the bytes, so that the segments need no region and belong to
	// the caller again when the post returns. FlagInline is for OpSend and OpWrite.
	FlagInline = provider.FlagInline
	// FlagInvalidate makes an OpSend invalidate a key of the peer, WorkRequest.Invalidate. The
	// invalidation ends the access that the peer has granted by this key.
	FlagInvalidate = provider.FlagInvalidate
	// FlagMore announces that more requests follow at once. A request with FlagMore may be held back
	// until one of four events: a request without the flag is posted to the endpoint, the adapter
	// makes progress, Adapter.Begin is called, or a graceful Disconnect of an endpoint of the adapter
	// begins. The provider can transfer the requests that start together as one batch.
	FlagMore = provider.FlagMore
	// FlagRoom declares that the only segment of a Send or of a receive has room for the provider
	// around the message: Attributes.Headroom bytes before the message and Attributes.Tailroom bytes
	// after it. Lengths of messages do not include the room. Until the request completes, the provider
	// may write to the room of a Send, and to the whole segment of a receive. The message of a
	// completed receive begins after the headroom. With the room, headers and message are contiguous
	// in memory. The region needs AccessLocalWrite.
	FlagRoom = provider.FlagRoom
	// FlagImmediate on OpSend and OpWrite carries WorkRequest.Immediate to the peer's completion. A
	// Send with FlagImmediate cannot have FlagInvalidate. A Write with FlagImmediate may have
	// FlagSolicited. If Attributes.ImmediateData is false, the post fails with
	// ErrModelNotSupported.
	FlagImmediate = provider.FlagImmediate
)

// Segment is local memory of a work request: bytes that lie within a registered
// region, and the region's local key. An empty segment is legal and not checked.
type Segment = provider.Segment

// setSegments copies the segments of its second argument into the memory of its first argument, and
// returns the copy. The first argument has enough capacity. Most lists have one segment. For one
// segment setSegments does not use append, because append makes a runtime call that takes longer
// than the rest of this function.
func setSegments(to, from []Segment) []Segment {
	if len(from) != 1 {
		return append(to[:0], from...)
	}
	to = to[:1]
	to[0] = from[0]
	return to
}

// dropSegments returns the list with length 0 and without references to the segments' memory,
// so that the garbage collector can free that memory.
func dropSegments(list []Segment) []Segment {
	if len(list) == 1 {
		list[0].Data = nil
	} else {
		clear(list)
	}
	return list[:0]
}

// RemoteRegion names memory of a peer. It is plain data: the peer gets it from MemoryRegion.Remote
// and sends it to this side in a message.
type RemoteRegion struct {
	Address uint64
	RKey    uint32
	Length  int
}

// WorkRequest is a Send, Write, Read or atomic. The post copies the WorkRequest and its list of
// segments. The bytes of the segments stay in use until the request completes.
type WorkRequest struct {
	// ID is returned in the Completion. Package verbs does not interpret it.
	ID    uint64
	Op    Opcode
	Flags RequestFlags
	// Segments are, in order, the bytes to send or write, or the memory into which to read. The
	// total length may be 0. It must not exceed MaxMessage of the endpoint's attributes for a Send,
	// and MaxRDMA for all other requests.
	Segments []Segment
	// RemoteAddress and RKey name the peer's memory of a Write, Read or atomic. They are ignored
	// if the total length is 0.
	RemoteAddress uint64
	RKey          uint32
	// Invalidate is the peer's key that FlagInvalidate invalidates, and Immediate is the number
	// that FlagImmediate sends.
	Invalidate, Immediate uint32
	// Compare and Swap are the operands of OpCompareSwap. Swap is also the addend of OpFetchAdd.
	Compare, Swap uint64
}

// ReceiveRequest is memory for one message of the peer. The regions of its segments need
// AccessLocalWrite.
type ReceiveRequest struct {
	// ID is returned in the Completion.
	ID uint64
	// Flags may contain FlagRoom. If the endpoint's ReceiveFlags are CompletionUnsignalled, Flags
	// may also contain FlagQuiet.
	Flags RequestFlags
	// Segments are the memory. Their total length must not exceed MaxMessage of the adapter.
	Segments []Segment
}
