package provider

// Opcode is the kind of a work request.
type Opcode uint8

// The work requests.
const (
	// OpSend is a message into a receive of the peer.
	OpSend Opcode = iota + 1
	// OpWrite writes local memory to remote memory. With FlagImmediate it also takes a
	// receive of the peer, behind what it writes.
	OpWrite
	// OpRead reads remote memory into local memory.
	OpRead
	// OpBind binds a memory window. Package verbs refuses it.
	OpBind
	// OpReceive is the opcode in the completion of a receive that a Send filled.
	OpReceive
	// OpFetchAdd adds Request.Swap to the 8 bytes at RemoteAddress, which is a multiple of
	// 8. What was there before comes into the only segment, of 8 bytes. Both are integers
	// in the byte order of their machine, as ibv_post_send(3) has them.
	OpFetchAdd
	// OpCompareSwap replaces the 8 bytes by Request.Swap if they equal Request.Compare, and
	// returns what was there as OpFetchAdd does.
	OpCompareSwap
	// OpReceiveWrite is the opcode in the completion of a receive that a Write with
	// FlagImmediate took.
	OpReceiveWrite
)

// Atomic reports whether the opcode is one of the atomics, which peers serve and count like
// Reads.
func (o Opcode) Atomic() bool { return o == OpFetchAdd || o == OpCompareSwap }

// Reads reports whether the request counts toward ORD: a Read or an atomic.
func (o Opcode) Reads() bool { return o == OpRead || o.Atomic() }

// RequestFlags modify a work request.
type RequestFlags uint16

// The flags of Request. FlagQuiet and FlagMore are package verbs' own.
const (
	// FlagUnsignalled says that the consumer gets no completion when the request succeeds:
	// a provider need not ask its adapter for one (no IBV_SEND_SIGNALED).
	FlagUnsignalled RequestFlags = 1 << iota
	FlagQuiet
	// FlagSolicited is carried to the peer with a Send, and with a Write that has
	// FlagImmediate (IBV_SEND_SOLICITED).
	FlagSolicited
	// FlagFence starts the request when all earlier Reads and atomics are complete. Next
	// does that, except where Attributes.HoldsReads is set.
	FlagFence
	// FlagInline says that the only segment lies in memory of package verbs, without a key,
	// that is valid until the request is done (IBV_SEND_INLINE).
	FlagInline
	// FlagInvalidate on OpSend carries the key in Request.Invalidate to the peer, which
	// revokes it.
	FlagInvalidate
	FlagMore
	// FlagRoom says that the only segment of a Send or of a receive has room for the
	// provider around the message, see Attributes.Headroom.
	FlagRoom
	// FlagImmediate on OpSend and OpWrite carries Request.Immediate to the peer. It comes
	// only where Attributes.ImmediateData is set, and not with FlagInvalidate.
	FlagImmediate
)

// Request is a posted work request, from Sends.Next until it is done or failed.
type Request struct {
	// Number counts the requests of a queue pair, in the order of Next. It begins again with
	// 0 whenever all were done.
	Number uint64
	Op     Opcode
	Flags  RequestFlags
	RKey   uint32
	// Segments are the bytes, those of an inline request included. Empty ones may be among
	// them.
	Segments []Segment
	// Length is their total, without the room of FlagRoom.
	Length        int
	RemoteAddress uint64
	// Invalidate and Immediate belong to their flags. Peers of either byte order see the
	// number of Immediate.
	Invalidate, Immediate uint32
	// Compare and Swap belong to the atomics.
	Compare, Swap uint64
	// Mark is the provider's own; it is 0 when Next returns the request.
	Mark uint64
}

// Sends are the requests posted to an endpoint, in order, as its queue pair sees them.
type Sends interface {
	// Next takes the oldest request that was not taken yet and may start now, or returns
	// nil: when there is none or the endpoint is not connected; and, except where
	// Attributes.HoldsReads is set, when it is a Read or an atomic and as many as the
	// connection allows (ORD) are under way, or when its fence waits for one. Requests go on
	// the wire in the order in which Next returns them.
	Next() *Request
	// Single returns the request that Next takes next, if it is the only one and may start
	// now, or nil. TakeSingle takes it.
	Single() *Request
	TakeSingle()
	// Len returns the number of requests posted and not complete.
	Len() int
	// At returns the request taken with that number. It is not done yet.
	At(number uint64) *Request
	// Done says that a request taken has succeeded and its memory is not touched any more.
	// A Send or Write may be done when it was handed to the transport. Requests may be done
	// in any order.
	Done(r *Request)
	// DoneBefore is Done for all that were taken and are not done, with a smaller number.
	DoneBefore(number uint64)
	// Fail says that a request taken has failed. Upcalls.Broken follows. Requests before it
	// that are not reported done count as flushed, so that an adapter which does not signal
	// each reports DoneBefore first.
	Fail(r *Request, s Status)
}
