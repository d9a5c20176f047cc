package verbs

import "github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"

// Provider is an implementation of RDMA on this host. Package iwarp, for example, has a Provider. A
// consumer passes the Provider to Open, and calls none of its methods. Package provider declares
// the methods.
type Provider = provider.Provider

// Attributes are the properties and limits of an adapter. Lengths are in bytes.
type Attributes = provider.Attributes

// EndpointAttributes are the properties of one endpoint (DAT_EP_ATTR). Lengths are in bytes, and
// counts are per endpoint. No value may exceed the adapter's limit.
type EndpointAttributes = provider.EndpointAttributes

// Service is the kind of a connection (librdmacm's port space).
type Service = provider.Service

const (
	// ServiceReliable is a connected, ordered and reliable service (RDMA_PS_TCP).
	ServiceReliable = provider.ServiceReliable
	// ServiceDatagram is an unconnected service (RDMA_PS_UDP). This package does not support it, and
	// no adapter offers it.
	ServiceDatagram = provider.ServiceDatagram
)

// QoS is a quality of service: the parameter qos of dat_ep_connect(3DAT), with the values of
// DAT_QOS.
type QoS = provider.QoS

// The qualities of service.
const (
	QoSBestEffort     = provider.QoSBestEffort
	QoSHighThroughput = provider.QoSHighThroughput
	QoSLowLatency     = provider.QoSLowLatency
	QoSEconomy        = provider.QoSEconomy
	QoSPremium        = provider.QoSPremium
)

// CompletionFlags selects which completions of one stream of an endpoint wake the goroutines that
// wait on the completion queue (dat_ep_create(3DAT), completion flags).
type CompletionFlags = provider.CompletionFlags

const (
	// CompletionThreshold is the default: every completion wakes the goroutines in Wait whose
	// threshold is reached.
	CompletionThreshold = provider.CompletionThreshold
	// CompletionUnsignalled allows requests and receives with FlagQuiet. If they succeed, their completions wake no
	// goroutine. It exists only because the manual pages of uDAPL define it (see doc.go).
	CompletionUnsignalled = provider.CompletionUnsignalled
	// CompletionSolicitedWait is for receives only: the completion of a message that was sent with FlagSolicited
	// wakes waiters, and the successful completion of any other message does not. If Attributes.HidesFlags is true, every
	// message wakes waiters. CompletionSolicitedWait exists only because the manual pages of uDAPL define it (see
	// doc.go).
	CompletionSolicitedWait = provider.CompletionSolicitedWait
)

// DepthDefault as a read depth of an endpoint lets the provider choose the depth. Query of a connected endpoint
// returns the chosen depth. A depth of 0 allows no Reads.
const DepthDefault = provider.DepthDefault
