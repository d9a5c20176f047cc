package provider

import "net/netip"

// QueuePairConfig holds the parameters of Device.NewQueuePair. The objects to which it refers
// stay valid until QueuePair.Close.
type QueuePairConfig struct {
	Domain     ProtectionDomain
	Attributes EndpointAttributes
	// Sends and Receives are the sources from which the queue pair takes its work, and to which it
	// reports the results.
	Sends    Sends
	Receives Receives
	// Shared is the shared receive queue, of the same device and domain, from which the receives
	// come. It is nil if the receives come from the field Receives.
	Shared SharedReceiveQueue
	// Upcalls take the events of the connection.
	Upcalls Upcalls
	// Guarded is true if the peer is not trusted until Guard.Trust is called. Until then an active
	// queue pair must process no data of the peer, and a passive queue pair may process only a
	// single Send, and messages of the protocol that access no memory of the consumer.
	Guarded bool
}

// Guard is an optional interface of a QueuePair. A QueuePair that obeys QueuePairConfig.Guarded
// implements it.
type Guard interface {
	// Trust ends the guard. It is called only when the connection is established.
	Trust()
}

// Wearer is an optional interface of a QueuePair whose connection may be encrypted with keys
// that are not renewed.
type Wearer interface {
	// Worn reports whether the connection is encrypted and has carried so much data that
	// another connection should replace it.
	Worn() bool
}

// Explainer is an optional interface of a QueuePair.
type Explainer interface {
	// Explain returns a remark, for people, on the data that the queue pair has sent so far, for
	// example how much was compressed. It returns "" if there is no remark.
	Explain() string
}

// QueuePair is one end of one connection. A queue pair is used for one connection attempt.
// Endpoint.Reset makes a new queue pair.
type QueuePair interface {
	// Connect begins the active side of a connection and returns at once. The result is the local
	// address, which may be incomplete. The outcome is a call of Upcalls.Established or
	// Upcalls.Failed, from within Connect or later. An error (for example ErrInvalidAddress or
	// ErrInsufficientResources) means that nothing has begun and no upcall follows. p and its
	// PrivateData are valid only during the call. Package verbs implements the consumer's timeout,
	// by a call of Abort.
	Connect(remote netip.AddrPort, p *Proposal) (local netip.AddrPort, err error)
	// Contacted reports whether the remote host has received the request of Connect, as far as the
	// transport can tell. On iWARP it reports whether the TCP connection is established. On
	// InfiniBand and RoCE it reports whether the request was sent. When the consumer's timeout has
	// passed, package verbs reports EventTimedOut if Contacted returns true, and EventUnreachable
	// otherwise.
	Contacted() bool
	// RequestsPosted announces that Sends.Next may return new requests. It is called after a post, but
	// only after Upcalls.Established. FlagMore can delay the call. The queue pair starts all requests
	// that it can start at once. Sometimes a queue pair must hold requests back: on the passive side
	// of iWARP before the first message of the active side, or if the socket or the send queue is
	// full. In this case the queue pair calls Next later by itself. If Attributes.HoldsReads is false,
	// the queue pair also calls Next after each completed Read or atomic. The completion may allow a
	// fenced request or another Read to start.
	RequestsPosted()
	// ReceivesPosted announces that Receives.Next may return new receives. It may be called
	// before Connect. It is not called for a queue pair with a shared receive queue.
	ReceivesPosted()
	// Drain announces that no more requests are posted, and that Disconnect follows when all requests
	// are done. If the last requests were posted to the adapter without a signal, the queue pair
	// itself posts a signalled request. The completion of this request shows that the last requests
	// are done.
	Drain()
	// Disconnect ends the connection gracefully. No request is outstanding when it is called. The
	// outcome is a call of Upcalls.Disconnected or Upcalls.Broken. Messages that arrive before the
	// peer has ended its side are still delivered.
	Disconnect()
	// Abort ends a connection or a connection attempt at once. The peer sees a broken or
	// refused connection. No upcall follows, and after Abort has returned the queue pair
	// accesses no request or receive.
	Abort()
	// Close frees the queue pair. It first does the same as Abort. Bytes that the protocol must
	// still send to the peer, such as a Terminate, may stay in the device after Close.
	Close()
}

// Proposal holds the parameters that one side of a connection sends to the other side, in the request
// or in the answer. Its values are from the sender's point of view.
type Proposal struct {
	// PrivateData are the consumer's bytes. A provider sends its own data separately.
	PrivateData []byte
	// ResponderResources (IRD) and InitiatorDepth (ORD) are the depths of the sender. In a received
	// Proposal they are DepthDefault if the transport does not carry them (MPA revision 1).
	ResponderResources, InitiatorDepth int
	FlowControl                        bool
	RetryCount, RNRRetryCount          uint8
	// QoS, Multipath and SameProvider are the options of Endpoint.Connect.
	QoS                     QoS
	Multipath, SameProvider bool
}

// Failure is a provider's reason why a connection was not made.
type Failure uint8

const (
	// FailureRefused stands for all reasons that no other Failure covers.
	FailureRefused Failure = iota + 1
	// FailureRejected means that the remote consumer rejected the request.
	FailureRejected
	// FailureUnreachable means that the remote host cannot be reached.
	FailureUnreachable
	// FailureTimedOut means that the remote host received the request, and that its answer did not
	// arrive within the provider's own timeout.
	FailureTimedOut
)

// Upcalls are the methods by which a QueuePair reports events of its connection. After Failed,
// Disconnected or Broken, the queue pair accesses no request or receive any more and makes no
// further upcall.
type Upcalls interface {
	// Established reports that the connection is established. After the call, the queue pair may
	// deliver messages. On the active side, answer is the peer's answer, and Established copies it.
	// On the passive side, answer is nil. If Established returns an error, the endpoint does not
	// accept the connection, for example because the peer's read depths do not fit. In this case the
	// queue pair ends the connection in the manner that its protocol defines, and makes no further
	// upcall. On iWARP it sends a Terminate with layer 2, type 0 and code 06.
	Established(answer *Proposal, local, remote netip.AddrPort) error
	// Failed reports that the connection was not made. privateData is the private data of a reject.
	// Failed copies privateData. err is the cause, for people.
	Failed(why Failure, privateData []byte, err error)
	// Disconnected reports that either side has ended an established connection gracefully.
	// Posted requests and receives are flushed.
	Disconnected()
	// Broken reports that an established connection has failed. If a request or receive has caused
	// the failure or failed with it, the queue pair has already called Fail for this request or
	// receive. All other requests and receives are flushed.
	Broken(err error)
}

// ServicePointConfig holds the parameters of Device.Listen.
type ServicePointConfig struct {
	// Address is the address at which to listen. Port 0 selects any free port. An invalid address
	// selects the adapter's own address.
	Address netip.AddrPort
	// Backlog bounds the requests that Arrived has taken and that are not answered.
	Backlog int
	// Arrived is the upcall that delivers a connection request. h is the Handshake of the request.
	// local and remote are the addresses of this side and of the active side. The port of remote is
	// the port qualifier of the active side. p is the active side's proposal, which Arrived copies.
	// If Arrived returns an error, it has not taken the request, and the provider refuses the
	// request.
	Arrived func(h Handshake, local, remote netip.AddrPort, p *Proposal) error
}

// ServicePoint is an address at which connection requests arrive.
type ServicePoint interface {
	// Address returns the address of the service point. It may be called without the lock.
	Address() netip.AddrPort
	// Close ends the service point. New requests are refused. Handshakes that were already reported
	// stay valid.
	Close()
}

// Handshake is the passive side of a connection whose request is not answered yet. Exactly one of
// its methods is called, once. A Handshake stays valid if the active side ends its attempt. In this
// case the outcome of Accept is a call of Upcalls.Failed.
type Handshake interface {
	// Accept accepts the request on qp, an unused queue pair of the same device. The outcome is a
	// call of Upcalls.Established(nil, ...) or Upcalls.Failed, from within Accept or later. answer
	// and its PrivateData are valid only during the call.
	Accept(qp QueuePair, answer *Proposal)
	// Reject answers that the consumer rejects the request (EventPeerRejected on the active side).
	// privateData is valid only during the call.
	Reject(privateData []byte)
	// Refuse ends the handshake without an answer of the consumer (EventNonPeerRejected on the
	// active side).
	Refuse()
}
