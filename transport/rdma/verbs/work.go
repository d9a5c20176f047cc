package verbs

// Opcode is the kind of a work request.
type Opcode uint8

// The work requests.
const (
	// OpSend is a message into a receive of the peer. FlagSolicited and
	// FlagInvalidate make its four kinds.
	OpSend Opcode = iota + 1
	// OpWrite writes local memory to remote memory.
	OpWrite
	// OpRead reads remote memory into local memory.
	OpRead
	// OpBind binds a memory window (RMR). Adapters without MemoryWindows refuse it
	// with ErrModelNotSupported; all of today's do.
	OpBind
	// OpReceive is the opcode in the Completion of a receive; it is not posted.
	OpReceive
)

// RequestFlags modify a work request.
type RequestFlags uint8

const (
	// FlagUnsignalled makes no completion when the request succeeds
	// (DAT_COMPLETION_SUPPRESS_FLAG; a verbs request without IBV_SEND_SIGNALED). Its
	// place in the queue is free again when a later request completes.
	FlagUnsignalled RequestFlags = 1 << iota
	// FlagQuiet makes a completion that wakes no goroutine
	// (DAT_COMPLETION_UNSIGNALLED_FLAG). The endpoint's flags for the stream must be
	// CompletionUnsignalled.
	FlagQuiet
	// FlagSolicited makes the completion of the peer's receive wake waiters there.
	FlagSolicited
	// FlagFence starts the request only when all earlier Reads are complete.
	FlagFence
	// FlagInline copies the bytes during the post; the segments need no region and
	// belong to the caller again when the post returns. Not for OpRead.
	FlagInline
	// FlagInvalidate on OpSend ends the access that the peer granted by the key in
	// WorkRequest.Invalidate.
	FlagInvalidate
	// FlagMore says that more requests follow at once: this one need not begin before a
	// request without the flag is posted to the endpoint, the adapter makes progress,
	// or Adapter.Begin is called. A provider moves together what begins together.
	FlagMore
	// FlagRoom says that the only segment of a Send or of a receive has room for the
	// provider around the message: Attributes.Headroom bytes before it and
	// Attributes.Tailroom behind, which count for no length. Until the request completes
	// the provider may write to that room, and to all of a receive, which then holds the
	// message where the room ends. So headers and message are one piece of memory.
	// Its region needs AccessLocalWrite.
	FlagRoom
)

// Segment is local memory of a work request: bytes that lie within a registered
// region, and the region's local key. An empty segment is legal and not checked.
type Segment struct {
	Data []byte
	LKey uint32
}

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

// WorkRequest is a Send, Write or Read. The post copies it, the list of segments
// included; the bytes stay in use until the request completes.
type WorkRequest struct {
	// ID comes back in the Completion. Package verbs does not interpret it.
	ID    uint64
	Op    Opcode
	Flags RequestFlags
	// Segments are the bytes to send or write, or to read into, in order. The total
	// may be 0 and must not exceed the endpoint's MaxMessage or MaxRDMA.
	Segments []Segment
	// RemoteAddress and RKey name the peer's memory of a Write or Read. They are ignored
	// when the total is 0.
	RemoteAddress uint64
	RKey          uint32
	// Invalidate is the peer's key of FlagInvalidate.
	Invalidate uint32
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
