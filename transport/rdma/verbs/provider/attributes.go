package provider

import "time"

// Service is the kind of a connection (librdmacm's port space).
type Service uint8

const (
	// ServiceReliable is connected, ordered and reliable (RDMA_PS_TCP).
	ServiceReliable Service = iota
	// ServiceDatagram is unconnected (RDMA_PS_UDP). It is out of scope: no adapter has it.
	ServiceDatagram
)

// QoS is a quality of service (dat_ep_connect(3DAT), qos; values of DAT_QOS).
type QoS uint32

// The qualities of service.
const (
	QoSBestEffort     QoS = 0
	QoSHighThroughput QoS = 1
	QoSLowLatency     QoS = 2
	QoSEconomy        QoS = 4
	QoSPremium        QoS = 8
)

// CompletionFlags is how the completions of one stream of an endpoint wake the goroutines
// that wait on the completion queue (dat_ep_create(3DAT), completion flags).
type CompletionFlags uint8

const (
	// CompletionThreshold is the default: every completion counts toward the
	// threshold of Wait.
	CompletionThreshold CompletionFlags = iota
	// CompletionUnsignalled allows requests and receives with FlagQuiet, whose
	// completions are queued but wake no goroutine.
	CompletionUnsignalled
	// CompletionSolicitedWait is for receives only: those of messages sent with
	// FlagSolicited wake, others do not.
	CompletionSolicitedWait
)

// DepthDefault as a read depth selects the provider's choice. Query of a connected endpoint
// returns the value. 0 means no reads.
const DepthDefault = -1

// Attributes are the properties and limits of an adapter. Lengths are in bytes.
type Attributes struct {
	// Provider and Interface are the names that opened the adapter.
	Provider, Interface string
	// Services and QoS list what the adapter supports. ServiceReliable is always there.
	Services []Service
	QoS      []QoS
	// Multipath says that ConnectMultipath can be asked for.
	Multipath bool
	// MemoryWindows says that OpBind can be posted.
	MemoryWindows bool
	// ImmediateData says that FlagImmediate can be used, Atomics that OpFetchAdd,
	// OpCompareSwap and AccessRemoteAtomic can.
	ImmediateData, Atomics bool

	// MaxMessage bounds a Send, MaxRDMA a Read or Write.
	MaxMessage, MaxRDMA int
	// MaxRequests and MaxReceives bound what one endpoint may have posted.
	MaxRequests, MaxReceives int
	// MaxSegments bounds a scatter/gather list, MaxReadSegments that of a Read.
	MaxSegments, MaxReadSegments int
	// MaxInline bounds a request with FlagInline.
	MaxInline int
	// Headroom and Tailroom are the bytes that FlagRoom leaves for the provider, 0 if it
	// does not use them.
	Headroom, Tailroom int
	// PinsMemory says that a registration pins pages, by a system call: a consumer that can
	// had better keep memory registered, or copy a few bytes. MaxPinned bounds what is
	// registered at a time in bytes, as far as that is known (RLIMIT_MEMLOCK); 0 is no bound.
	PinsMemory bool
	MaxPinned  int
	// SinksAreWritable says that a peer that knows the key of memory with AccessLocalWrite can
	// write there without AccessRemoteWrite: the adapter needs that right for what Reads fill
	// (iWARP in hardware, where a Read Response is a message to a key of this side).
	SinksAreWritable bool
	// MaxReadsIn (IRD, max_qp_rd_atom) and MaxReadsOut (ORD, max_qp_init_rd_atom)
	// bound the Reads and atomics under way toward and from one endpoint.
	MaxReadsIn, MaxReadsOut int
	// MaxSharedReceives bounds a shared receive queue; 0 means there are none.
	MaxSharedReceives int
	// MaxCompletions bounds a completion queue of package verbs.
	MaxCompletions int

	// Private data limits of a request, an accept and a reject.
	MaxRequestData, MaxAcceptData, MaxRejectData int
	// PadsPrivateData says that the peer may see more bytes than were passed, zeros
	// at the end (InfiniBand does).
	PadsPrivateData bool

	// HoldsReads says that the adapter itself holds back Reads and atomics beyond ORD, and
	// requests with FlagFence, so that it can be given them all.
	HoldsReads bool
	// HidesFlags says that the adapter tells neither whether a message was solicited nor
	// which key it has revoked, as those of the kernel: every message counts as solicited
	// for CompletionSolicitedWait then, and FlagInvalidate is refused.
	HidesFlags bool
	// CarriesConnParam says that FlowControl and the retry counts reach the peer.
	CarriesConnParam bool
	// WaitsForReceive says that a message that finds no receive posted is retried
	// (RNR of InfiniBand) as ConnParam.RNRRetryCount has it. Where it is false, as on
	// iWARP, such a message breaks the connection.
	WaitsForReceive bool
	// MinRNRTimer is the delay before such a retry, 0 without WaitsForReceive.
	MinRNRTimer time.Duration
	// ActiveSpeaksFirst says that what the passive side sends leaves only after the
	// first message of the active side (iWARP, RFC 5044 section 7.1.2).
	ActiveSpeaksFirst bool
	// Transport is free text for people: "MPA rev 2 over TCP", ...
	Transport string

	// Endpoint is what an endpoint made with nil attributes gets.
	Endpoint EndpointAttributes
}

// EndpointAttributes are the properties of one endpoint (DAT_EP_ATTR). Lengths are
// in bytes, counts per endpoint; none may exceed the adapter's.
type EndpointAttributes struct {
	Service Service
	QoS     QoS
	// MaxMessage bounds a Send, MaxRDMA a Read or Write.
	MaxMessage, MaxRDMA int
	// ReceiveFlags and RequestFlags say how completions wake waiters.
	ReceiveFlags, RequestFlags CompletionFlags
	// MaxReceives is how many receives may be posted; with a shared receive queue it
	// is not used. MaxRequests is the same for Send, Write and Read.
	MaxReceives, MaxRequests int
	// MaxReceiveSegments and MaxRequestSegments bound the scatter/gather lists.
	MaxReceiveSegments, MaxRequestSegments int
	// MaxInline bounds a request with FlagInline.
	MaxInline int
	// ReadsIn (IRD) and ReadsOut (ORD) are the reads that may be under way toward and
	// from this endpoint, DepthDefault for the provider's choice.
	ReadsIn, ReadsOut int
}
