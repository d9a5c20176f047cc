package provider

import "time"

// Service is the kind of a connection (librdmacm's port space).
type Service uint8

const (
	// ServiceReliable is a connected, ordered and reliable service (RDMA_PS_TCP).
	ServiceReliable Service = iota
	// ServiceDatagram is an unconnected service (RDMA_PS_UDP). Package verbs does not support it,
	// and no adapter offers it.
	ServiceDatagram
)

// QoS is a quality of service: the parameter qos of dat_ep_connect(3DAT), with the values of
// DAT_QOS.
type QoS uint32

// The qualities of service.
const (
	QoSBestEffort     QoS = 0
	QoSHighThroughput QoS = 1
	QoSLowLatency     QoS = 2
	QoSEconomy        QoS = 4
	QoSPremium        QoS = 8
)

// CompletionFlags selects which completions of one stream of an endpoint wake the goroutines
// that wait on the completion queue (dat_ep_create(3DAT), completion flags).
type CompletionFlags uint8

const (
	// CompletionThreshold is the default: every completion wakes the goroutines in Wait whose
	// threshold is reached.
	CompletionThreshold CompletionFlags = iota
	// CompletionUnsignalled allows requests and receives with FlagQuiet. If they succeed, their
	// completions are queued but wake no goroutine.
	CompletionUnsignalled
	// CompletionSolicitedWait is for receives only: a successful completion wakes waiters only
	// if the message was sent with FlagSolicited, or if Attributes.HidesFlags is true.
	CompletionSolicitedWait
)

// DepthDefault as a read depth of an endpoint lets the provider choose the depth. Query of a connected endpoint
// returns the chosen depth. A depth of 0 allows no Reads.
const DepthDefault = -1

// Attributes are the properties and limits of an adapter. Lengths are in bytes.
type Attributes struct {
	// Provider and Interface are the names of the provider and of the interface with which the
	// adapter was opened.
	Provider, Interface string
	// Services and QoS list the services and the qualities of service that the adapter supports.
	// Services always contains ServiceReliable.
	Services []Service
	QoS      []QoS
	// Multipath is true if the adapter supports ConnectMultipath.
	Multipath bool
	// MemoryWindows is true if the adapter supports OpBind.
	MemoryWindows bool
	// ImmediateData is true if the adapter supports FlagImmediate. Atomics is true if the adapter
	// supports OpFetchAdd, OpCompareSwap and AccessRemoteAtomic.
	ImmediateData, Atomics bool

	// MaxMessage bounds the length of a Send and the total length of the segments of a receive. MaxRDMA bounds
	// the length of a Read or Write.
	MaxMessage, MaxRDMA int
	// MaxRequests and MaxReceives bound the requests and the receives that one endpoint may
	// have posted.
	MaxRequests, MaxReceives int
	// MaxSegments bounds the number of segments of a request or receive, and MaxReadSegments the
	// number of segments of a Read.
	MaxSegments, MaxReadSegments int
	// MaxInline bounds the length of a request with FlagInline.
	MaxInline int
	// Headroom and Tailroom are the numbers of bytes that FlagRoom reserves for the provider. They are
	// 0 if the provider does not use this room.
	Headroom, Tailroom int
	// PinsMemory is true if each registration pins pages by a system call. The consumer should
	// then keep memory registered if it can, and copy short messages instead of registering their
	// memory. MaxPinned bounds the number of bytes that are registered at the same time
	// (RLIMIT_MEMLOCK). 0 means that no bound is known.
	PinsMemory bool
	MaxPinned  int
	// SinksAreWritable is true if a peer that knows the key of memory with AccessLocalWrite can
	// write to that memory without AccessRemoteWrite. The reason is that some adapters need the
	// right of remote writes for memory that Reads fill. iWARP adapters in hardware need this
	// right, because their Read Responses are messages that name a key of this side.
	SinksAreWritable bool
	// MaxReadsIn (IRD, max_qp_rd_atom) bounds the Reads and atomics that one endpoint serves at a
	// time. MaxReadsOut (ORD, max_qp_init_rd_atom) bounds the Reads and atomics that one endpoint
	// has in flight.
	MaxReadsIn, MaxReadsOut int
	// MaxSharedReceives bounds the receives of a shared receive queue. It is 0 if the adapter
	// has no shared receive queues.
	MaxSharedReceives int
	// MaxCompletions bounds the capacity of a completion queue of package verbs.
	MaxCompletions int

	// MaxRequestData, MaxAcceptData and MaxRejectData bound the private data of a connection
	// request, an accept and a reject.
	MaxRequestData, MaxAcceptData, MaxRejectData int
	// PadsPrivateData is true if the peer may see additional zeros at the end of private data (as
	// on InfiniBand).
	PadsPrivateData bool

	// HoldsReads is true if the adapter itself holds back Reads and atomics beyond ORD, and
	// requests with FlagFence. Sends.Next then returns them without regard to ORD and fences.
	HoldsReads bool
	// HidesFlags is true if the adapter reports neither whether a message was solicited nor which
	// key a message has invalidated. It is true for the adapters of the kernel. If HidesFlags is
	// true, every message counts as solicited for CompletionSolicitedWait, and FlagInvalidate is
	// refused.
	HidesFlags bool
	// CarriesConnParam is true if FlowControl and the retry counts are sent to the peer.
	CarriesConnParam bool
	// WaitsForReceive is true if a message that finds no receive posted is retried (RNR of
	// InfiniBand), up to ConnParam.RNRRetryCount times. If WaitsForReceive is false, as on iWARP, a
	// message that finds no receive posted breaks the connection.
	WaitsForReceive bool
	// MinRNRTimer is the delay before the retry of a message that has found no receive. It is 0 if
	// WaitsForReceive is false.
	MinRNRTimer time.Duration
	// ActiveSpeaksFirst is true if messages of the passive side may be held back until the first
	// message of the active side has arrived (iWARP, RFC 5044 section 7.1.2).
	ActiveSpeaksFirst bool
	// Transport is free text for people: "MPA rev 2 over TCP", ...
	Transport string

	// Endpoint holds the attributes of an endpoint for which the consumer specifies no attributes.
	Endpoint EndpointAttributes
}

// EndpointAttributes are the properties of one endpoint (DAT_EP_ATTR). Lengths are in bytes, and
// counts are per endpoint. No value may exceed the adapter's limit.
type EndpointAttributes struct {
	Service Service
	QoS     QoS
	// MaxMessage bounds the length of a Send, MaxRDMA the length of a Read or Write.
	MaxMessage, MaxRDMA int
	// ReceiveFlags and RequestFlags select which completions of receives and of requests wake
	// waiters.
	ReceiveFlags, RequestFlags CompletionFlags
	// MaxReceives bounds the posted receives. An endpoint with a shared receive queue does not use
	// MaxReceives. MaxRequests bounds the posted requests.
	MaxReceives, MaxRequests int
	// MaxReceiveSegments and MaxRequestSegments bound the scatter/gather lists of receives and
	// of requests.
	MaxReceiveSegments, MaxRequestSegments int
	// MaxInline bounds the length of a request with FlagInline.
	MaxInline int
	// ReadsIn (IRD) bounds the number of Reads and atomics that this endpoint serves at a time.
	// ReadsOut (ORD) bounds the number of Reads and atomics that it has in flight. DepthDefault
	// leaves the bound to the provider.
	ReadsIn, ReadsOut int
}
