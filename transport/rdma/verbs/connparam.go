package verbs

import (
	"math"
	"time"
)

// ConnParam are the parameters of a connection (rdma_conn_param of rdma_connect(3)
// and rdma_accept(3)).
type ConnParam struct {
	// PrivateData is copied by the call and reaches the peer's ConnectionRequest (of
	// Connect) or its EventEstablished (of Accept). The peer may see zeros after it:
	// carry a length inside. Nil and empty are legal.
	PrivateData []byte
	// ResponderResources (IRD) is the number of reads and atomics of the peer this
	// side serves at a time, InitiatorDepth (ORD) the number it may itself have under
	// way. DepthDefault takes the endpoint's attribute; 0 means none. A value above the
	// adapter's limit is ErrInvalidParameter. Each side's InitiatorDepth ends at most at
	// the other's ResponderResources.
	ResponderResources, InitiatorDepth int
	// FlowControl is carried to the peer and configures nothing.
	FlowControl bool
	// RetryCount is how often a request is tried again when it is not answered, 0 to
	// 7. Accept ignores it.
	RetryCount uint8
	// RNRRetryCount is how often a message of the peer is tried again when it finds
	// no receive posted here, 0 to 7; 7 means for ever.
	RNRRetryCount uint8
	// SRQ and QPNum describe a queue pair that the caller made elsewhere. They are
	// ignored: an endpoint has its own.
	SRQ   bool
	QPNum uint32
}

// retryCountMax is what 3 bits hold.
const retryCountMax = 7

// TimeoutInfinite as a timeout never ends (DAT_TIMEOUT_INFINITE).
const TimeoutInfinite = time.Duration(math.MaxInt64)

// ConnectFlags are the connect_flags of dat_ep_connect(3DAT), and one more. Other bits
// do not count.
type ConnectFlags uint32

const (
	// ConnectDefault asks for nothing special.
	ConnectDefault ConnectFlags = 0
	// ConnectMultipath asks for several paths.
	ConnectMultipath ConnectFlags = 1
	// ConnectSameProvider says that the peer's adapter is of the same provider, which
	// the consumer knows by other means. The provider may then ask the peer for what only
	// the two of them know. A peer of another one must not be asked.
	ConnectSameProvider ConnectFlags = 2
)

// ConnectOptions are the arguments of Connect beside the address.
type ConnectOptions struct {
	// Timeout bounds the attempt. It must be positive; TimeoutInfinite is legal.
	Timeout time.Duration
	// Param may be nil: no private data, depths as the endpoint's attributes say,
	// retry counts 7.
	Param *ConnParam
	QoS   QoS
	Flags ConnectFlags
}

// CloseFlags are the disconnect_flags of dat_ep_disconnect(3DAT).
type CloseFlags uint8

const (
	// CloseAbrupt flushes what is posted.
	CloseAbrupt CloseFlags = iota
	// CloseGraceful lets the requests posted so far complete first.
	CloseGraceful
)
