package verbs

import (
	"math"
	"time"
)

// ConnParam are the parameters of a connection (rdma_conn_param of rdma_connect(3)
// and rdma_accept(3)).
type ConnParam struct {
	// PrivateData is copied by the call and delivered in the peer's ConnectionRequest (by Connect)
	// or in its EventEstablished (by Accept). The peer may see zeros after it, so that its length
	// has to be part of it. Nil and empty are legal.
	PrivateData []byte
	// ResponderResources (IRD) is the number of the peer's Reads and atomics that this side serves
	// at a time. InitiatorDepth (ORD) is the number that this side itself may have under way.
	// DepthDefault selects the endpoint's attribute; 0 means none. A value above the adapter's
	// limit is ErrInvalidParameter. When connected, the InitiatorDepth of each side is at most the
	// other side's ResponderResources.
	ResponderResources, InitiatorDepth int
	// FlowControl is carried to the peer and configures nothing.
	FlowControl bool
	// RetryCount is how often a request without an acknowledgement is retransmitted, 0 to 7. Accept
	// ignores it.
	RetryCount uint8
	// RNRRetryCount is how often the peer retries a message for which no receive is posted here, 0
	// to 7; 7 means without limit.
	RNRRetryCount uint8
	// SRQ and QPNum would describe a queue pair that the caller made elsewhere. They are ignored:
	// an endpoint has a queue pair of its own.
	SRQ   bool
	QPNum uint32
}

// retryCountMax is the largest number of 3 bits.
const retryCountMax = 7

// TimeoutInfinite is a timeout that never ends (DAT_TIMEOUT_INFINITE).
const TimeoutInfinite = time.Duration(math.MaxInt64)

// ConnectFlags are the connect_flags of dat_ep_connect(3DAT), and ConnectSameProvider. Other bits
// are ignored.
type ConnectFlags uint32

const (
	// ConnectDefault asks for nothing special.
	ConnectDefault ConnectFlags = 0
	// ConnectMultipath asks for several paths.
	ConnectMultipath ConnectFlags = 1
	// ConnectSameProvider asserts that the peer's adapter is of the same provider, which the
	// consumer must know from another source. The provider may then ask the peer for features that
	// are private to that provider. An adapter of another provider must not be asked for them.
	ConnectSameProvider ConnectFlags = 2
)

// ConnectOptions are the arguments of Connect except the address.
type ConnectOptions struct {
	// Timeout bounds the attempt. It must be positive; TimeoutInfinite is legal.
	Timeout time.Duration
	// Param may be nil, which means no private data, the depths of the endpoint's attributes, and
	// retry counts of 7.
	Param *ConnParam
	QoS   QoS
	Flags ConnectFlags
}

// CloseFlags are the disconnect_flags of dat_ep_disconnect(3DAT).
type CloseFlags uint8

const (
	// CloseAbrupt flushes the posted requests and receives.
	CloseAbrupt CloseFlags = iota
	// CloseGraceful waits until the requests posted so far are complete.
	CloseGraceful
)
