package provider

// Opcode is the kind of a work request.
type Opcode uint8

// The kinds of work requests.
const (
	// OpSend sends a message, which fills a receive of the peer.
	OpSend Opcode = iota + 1
	// OpWrite writes local memory to remote memory. With FlagImmediate it also takes a
	// receive of the peer, after its bytes are written.
	OpWrite
	// OpRead reads remote memory into local memory.
	OpRead
	// OpBind binds a memory window. Package verbs refuses it.
	OpBind
	// OpReceive is the opcode in the completion of a receive that a Send filled.
	OpReceive
	// OpFetchAdd adds Request.Swap to the 8 bytes at RemoteAddress, a multiple of 8. The only
	// segment, of 8 bytes, receives the value before the addition. The remote and the local 8
	// bytes are integers in the byte order of their machine, as in ibv_post_send(3).
	OpFetchAdd
	// OpCompareSwap replaces the 8 bytes by Request.Swap if they equal Request.Compare. The
	// only segment receives the value before that, as with OpFetchAdd.
	OpCompareSwap
	// OpReceiveWrite is the opcode in the completion of a receive that a Write with
	// FlagImmediate took.
	OpReceiveWrite
)

// Atomic reports whether the opcode is an atomic. The peer serves atomics, and counts them
// toward its IRD, like Reads.
func (o Opcode) Atomic() bool { return o == OpFetchAdd || o == OpCompareSwap }

// Reads reports whether the request counts toward ORD: a Read or an atomic.
func (o Opcode) Reads() bool { return o == OpRead || o.Atomic() }

// RequestFlags modify a work request.
type RequestFlags uint16

// The flags of Request. Only package verbs uses FlagQuiet and FlagMore.
const (
	// FlagUnsignalled means that the consumer gets no completion if the request succeeds. A
	// provider need not request one from its adapter (no IBV_SEND_SIGNALED).
	FlagUnsignalled RequestFlags = 1 << iota
	FlagQuiet
	// FlagSolicited is carried to the peer with a Send, and with a Write that has
	// FlagImmediate (IBV_SEND_SOLICITED).
	FlagSolicited
	// FlagFence delays the request until all earlier Reads and atomics are complete.
	// Sends.Next implements that, unless Attributes.HoldsReads is set.
	FlagFence
	// FlagInline means that the only segment lies in memory of package verbs. The segment has
	// no key and is valid until the request is done (IBV_SEND_INLINE).
	FlagInline
	// FlagInvalidate on OpSend carries the key in Request.Invalidate to the peer, which
	// revokes it.
	FlagInvalidate
	FlagMore
	// FlagRoom means that the only segment of a Send or of a receive has room for the
	// provider around the message, see Attributes.Headroom.
	FlagRoom
	// FlagImmediate on OpSend and OpWrite carries Request.Immediate to the peer. It is used
	// only if Attributes.ImmediateData is set, and not together with FlagInvalidate.
	FlagImmediate
)

// Request is a posted work request. The provider may use it from Sends.Next until it reports the
// request as done or failed.
type Request struct {
	// Number counts the requests of a queue pair in the order of Next. It restarts at 0
	// whenever all requests are done.
	Number uint64
	Op     Opcode
	Flags  RequestFlags
	RKey   uint32
	// Segments are the local memory, also of an inline request. Some may be empty.
	Segments []Segment
	// Length is the total length of Segments, without the room of FlagRoom.
	Length        int
	RemoteAddress uint64
	// Invalidate is the key of FlagInvalidate, Immediate the number of FlagImmediate. Peers of
	// either byte order see the same number.
	Invalidate, Immediate uint32
	// Compare and Swap are the operands of OpCompareSwap. Swap is also the addend of OpFetchAdd.
	Compare, Swap uint64
	// Mark is for the provider's use. It is 0 when Next returns the request.
	Mark uint64
}

// Sends holds the requests posted to an endpoint, in order. The queue pair takes requests from
// it and reports their results to it.
type Sends interface {
	// Next takes and returns the oldest request that was not taken yet, if it may start now.
	// Otherwise it returns nil: if there is no such request, or the endpoint is not connected.
	// Unless Attributes.HoldsReads is set, Next also returns nil if the request is a Read or an
	// atomic and as many of these as the connection allows (ORD) are in flight, or if the
	// request has FlagFence and a Read or atomic is in flight. Requests go on the wire in the
	// order in which Next returns them.
	Next() *Request
	// Single returns the request that Next would return, if no other request waits behind it
	// and no Read or atomic that Next counts is in flight; otherwise it returns nil. It does
	// not take the request. TakeSingle does.
	Single() *Request
	TakeSingle()
	// Len returns the number of requests that are posted and not complete.
	Len() int
	// At returns the request with that number, which is taken and not done.
	At(number uint64) *Request
	// Done reports that a taken request has succeeded. The queue pair must not access its
	// memory any more. A Send or Write may be reported as soon as its bytes are with the
	// transport. Requests may be done in any order.
	Done(r *Request)
	// DoneBefore does Done for all requests with a smaller number that are taken and not done.
	DoneBefore(number uint64)
	// Fail reports that a taken request has failed; Upcalls.Broken follows. Earlier requests
	// that have not been reported as done count as flushed. An adapter that does not signal
	// each request therefore calls DoneBefore first.
	Fail(r *Request, s Status)
}
