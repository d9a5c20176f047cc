package verbs

import (
	"math"
	"time"
)

// ConnParam holds the parameters of a connection (rdma_conn_param of rdma_connect(3) and
// rdma_accept(3)).
type ConnParam struct {
	// PrivateData is sent to the peer. The call copies it. The private data of Connect arrive in
	// the peer's ConnectionRequest, and the private data of Accept in the peer's EventEstablished.
	// The peer may see additional zeros after the private data. So the consumer has to put the
	// length into the private data if the peer needs the length. Nil and empty are legal.
	PrivateData []byte
	// ResponderResources (IRD) is the number of the peer's Reads and atomics that this side serves
	// at a time. InitiatorDepth (ORD) is the number of Reads and atomics that this side may have
	// in flight. In Connect, DepthDefault selects the endpoint's attribute. In Accept, it selects the
	// proposed depth, lowered to this attribute. 0 allows no Reads. A value above the adapter's limit
	// causes ErrInvalidParameter. When the connection is established, the InitiatorDepth of each side
	// is at most the other side's ResponderResources.
	ResponderResources, InitiatorDepth int
	// FlowControl has no effect. It is sent to the peer if Attributes.CarriesConnParam is true.
	FlowControl bool
	// RetryCount is the number of times that a request without an acknowledgement is retransmitted,
	// 0 to 7. Accept ignores RetryCount.
	RetryCount uint8
	// RNRRetryCount is the number of times that the peer retries a message for which this side has
	// no receive posted, 0 to 7. The value 7 means without limit.
	RNRRetryCount uint8
	// SRQ and QPNum exist because librdmacm has them. In librdmacm they describe a queue pair that the
	// caller has made. This package ignores them, because an endpoint makes its own queue pair.
	SRQ   bool
	QPNum uint32
}

// retryCountMax is the largest number that fits into 3 bits.
const retryCountMax = 7

// TimeoutInfinite is a timeout that never ends (DAT_TIMEOUT_INFINITE).
const TimeoutInfinite = time.Duration(math.MaxInt64)

// ConnectFlags are the connect_flags of dat_ep_connect(3DAT), and ConnectSameProvider. Other bits
// are ignored.
type ConnectFlags uint32

const (
	// ConnectDefault requests no special feature.
	ConnectDefault ConnectFlags = 0
	// ConnectMultipath requests several paths.
	ConnectMultipath ConnectFlags = 1
	// ConnectSameProvider asserts that the peer's adapter belongs to the same provider. The
	// consumer must know this from another source. With this flag, the provider may request
	// features from the peer that only this provider knows. Without the flag it must not request
	// such features.
	ConnectSameProvider ConnectFlags = 2
)

// ConnectOptions are the arguments of Connect other than the address.
type ConnectOptions struct {
	// Timeout bounds the duration of the attempt. It must be positive, and may be TimeoutInfinite.
	Timeout time.Duration
	// Param holds the parameters of the connection. If Param is nil, there is no private data, the
	// depths are those of the endpoint's attributes, and the retry counts are 7.
	Param *ConnParam
	QoS   QoS
	Flags ConnectFlags
}

// CloseFlags are the disconnect_flags of dat_ep_disconnect(3DAT).
type CloseFlags uint8

const (
	// CloseAbrupt ends the connection at once and flushes the posted requests and receives.
	CloseAbrupt CloseFlags = iota
	// CloseGraceful ends the connection when the requests that are already posted are complete.
	CloseGraceful
)
