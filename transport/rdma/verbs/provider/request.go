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
	// OpFetchAdd adds Request.Swap to the 8 bytes at RemoteAddress, which is a multiple of 8. The
	// request has one segment of 8 bytes, which receives the value before the addition. The remote
	// and the local 8 bytes are integers in the byte order of their host, as in ibv_post_send(3).
	OpFetchAdd
	// OpCompareSwap replaces the 8 bytes at RemoteAddress by Request.Swap if they equal
	// Request.Compare. The segment of the request receives the value before the replacement.
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

// The flags of Request. Providers ignore FlagQuiet and FlagMore, which package verbs implements.
const (
	// FlagUnsignalled means that the consumer gets no completion if the request succeeds. A
	// provider need not request a completion from its adapter (no IBV_SEND_SIGNALED).
	FlagUnsignalled RequestFlags = 1 << iota
	FlagQuiet
	// FlagSolicited is sent to the peer with a Send, and with a Write that has FlagImmediate
	// (IBV_SEND_SOLICITED).
	FlagSolicited
	// FlagFence delays the request until all earlier Reads and atomics are complete. Sends.Next
	// implements the delay if Attributes.HoldsReads is false. Otherwise the adapter implements it.
	FlagFence
	// FlagInline means that the only segment lies in memory of package verbs. The segment has
	// no key and is valid until the request is done (IBV_SEND_INLINE).
	FlagInline
	// FlagInvalidate on OpSend sends the key in Request.Invalidate to the peer. The peer
	// invalidates this key.
	FlagInvalidate
	FlagMore
	// FlagRoom means that the only segment of a Send or of a receive has room for the
	// provider around the message, see Attributes.Headroom.
	FlagRoom
	// FlagImmediate on OpSend and OpWrite sends Request.Immediate to the peer. It is used only if
	// Attributes.ImmediateData is true, and not together with FlagInvalidate.
	FlagImmediate
)

// Request is a posted work request. The provider may use it from Sends.Next until it reports the
// request as done or failed.
type Request struct {
	// Number counts the requests of a queue pair in the order of Next. It restarts at 0 when all
	// requests are done.
	Number uint64
	Op     Opcode
	Flags  RequestFlags
	RKey   uint32
	// Segments are the local memory of the request, also of an inline request. Some segments may be
	// empty.
	Segments []Segment
	// Length is the total length of Segments, without the room of FlagRoom.
	Length        int
	RemoteAddress uint64
	// Invalidate is the key for FlagInvalidate. Immediate is the number for FlagImmediate. The
	// peer sees the same number, even if its host has another byte order.
	Invalidate, Immediate uint32
	// Compare and Swap are the operands of OpCompareSwap. Swap is also the addend of OpFetchAdd.
	Compare, Swap uint64
	// Mark is for the provider's use. It is 0 when Next returns the request.
	Mark uint64
}

// Sends holds the requests posted to an endpoint, in order. The queue pair takes requests from
// it and reports their results to it.
type Sends interface {
	// Next takes and returns the oldest request that was not taken yet, if it may start now. It
	// returns nil if there is no such request, or if the endpoint is not connected. If
	// Attributes.HoldsReads is false, Next also returns nil in two further cases: for a Read or an
	// atomic while ORD Reads and atomics are in flight, and for a request with FlagFence while a
	// Read or an atomic is in flight. Requests go on the wire in the order in which Next returns
	// them.
	Next() *Request
	// Single returns the request that Next would return, on three conditions: it is the only request
	// that was not taken yet, no Read or atomic that Next counts is in flight, and no graceful
	// Disconnect has begun. Otherwise Single returns nil. Single does not take the request. TakeSingle
	// takes it. A Read or an atomic must be taken with Next instead, because TakeSingle does not count
	// the request as in flight.
	Single() *Request
	TakeSingle()
	// Len returns the number of requests that are posted and not complete.
	Len() int
	// At returns the request with this number. The request must be taken and not done.
	At(number uint64) *Request
	// Done reports that a taken request has succeeded. The queue pair must not access the memory of
	// the request any more. A Send or Write may be reported as soon as the transport has accepted
	// its bytes. Requests may be done in any order.
	Done(r *Request)
	// DoneBefore does the same as Done for all taken requests that are not done and whose number
	// is less than the argument number.
	DoneBefore(number uint64)
	// Fail reports that a taken request has failed. Upcalls.Broken follows. Earlier requests that have
	// not been reported as done count as flushed. Therefore a queue pair that does not signal each
	// request calls DoneBefore before Fail.
	Fail(r *Request, s Status)
}
