package provider

import "net/netip"

// QueuePairConfig says what a queue pair belongs to. What it refers to stays valid until
// QueuePair.Close.
type QueuePairConfig struct {
	Domain     ProtectionDomain
	Attributes EndpointAttributes
	// Sends and Receives are the work, and where it is reported.
	Sends    Sends
	Receives Receives
	// Shared is the queue of the same device and domain that the receives come from, or nil.
	Shared SharedReceiveQueue
	// Upcalls take what happens to the connection.
	Upcalls Upcalls
	// Guarded says that until Guard.Trust an active queue pair takes nothing of what the peer
	// sends, and a passive one a single Send.
	Guarded bool
}

// Guard is what a QueuePair implements that obeys QueuePairConfig.Guarded.
type Guard interface {
	// Trust says that the connection, which is established, is not guarded any more.
	Trust()
}

// Wearer is what a QueuePair may be, too: Worn says that its connection has carried so much that
// another one should take its place, since it is encrypted and its keys are not renewed.
type Wearer interface {
	Worn() bool
}

// Explainer is what a QueuePair may be, too: Explain says what is special about what it has
// sent so far, "" if nothing is.
type Explainer interface {
	Explain() string
}

// QueuePair is one end of one connection. It is used once: the endpoint makes a new one
// after Reset.
type QueuePair interface {
	// Connect begins the active side and returns the local end at once, as far as it is
	// known. The outcome is one of Upcalls.Established and Upcalls.Failed, from within or
	// later. An error (ErrInvalidAddress, ErrInsufficientResources) means that nothing has
	// begun and no upcall comes. p and its PrivateData are valid during the call. The
	// consumer's timeout is kept by package verbs, which calls Abort.
	Connect(remote netip.AddrPort, p *Proposal) (local netip.AddrPort, err error)
	// Contacted reports whether the remote host has taken the request of Connect, as far as
	// the transport can tell (iWARP: the TCP connection stands). It separates
	// EventTimedOut from EventUnreachable when the consumer's timeout has passed.
	Contacted() bool
	// RequestsPosted says that Sends.Next may return something new. It comes after every
	// post, which needs Upcalls.Established; the queue pair starts what it can at once. A
	// queue pair that has to hold back (iWARP's passive side until the active side has
	// spoken, a full socket or send queue) calls Next later of its own accord and, except
	// where Attributes.HoldsReads is set, after each Read or atomic it has done, which may
	// let a fenced request or another Read go.
	RequestsPosted()
	// ReceivesPosted says the same of Receives.Next. It may come before Connect. It does not
	// come with a shared queue.
	ReceivesPosted()
	// Drain says that nothing more is posted: Disconnect follows when all requests are done.
	// A queue pair whose last requests were not signalled posts one that is.
	Drain()
	// Disconnect ends the connection in order. No request is left. The outcome is
	// Upcalls.Disconnected or Upcalls.Broken. Messages that arrive before the peer's end
	// are still delivered.
	Disconnect()
	// Abort ends whatever is going on at once. The peer sees a broken connection, or a
	// refused one. No upcall follows, and no request or receive is touched after it returns.
	Abort()
	// Close frees the queue pair. It implies Abort. What the protocol still owes the peer (a
	// Terminate on its way) may outlive it in the device.
	Close()
}

// Proposal is what one side of a connection proposes or answers to the other. Its values are
// in the terms of the side that sent it.
type Proposal struct {
	// PrivateData is the consumer's. Data of providers are sent separately.
	PrivateData []byte
	// ResponderResources (IRD) and InitiatorDepth (ORD) of the sender; DepthDefault in one
	// that was received where the transport does not carry them (MPA revision 1).
	ResponderResources, InitiatorDepth int
	FlowControl                        bool
	RetryCount, RNRRetryCount          uint8
	// QoS, Multipath and SameProvider are those of Connect.
	QoS                     QoS
	Multipath, SameProvider bool
}

// Failure is why a connection was not made, as a provider sees it.
type Failure uint8

const (
	// FailureRefused is every reason but the others.
	FailureRefused Failure = iota + 1
	// FailureRejected says that the remote consumer rejected.
	FailureRejected
	// FailureUnreachable says that the remote host cannot be reached.
	FailureUnreachable
	// FailureTimedOut says that the remote host took the request and the provider's own
	// patience with its answer has ended.
	FailureTimedOut
)

// Upcalls is where a QueuePair reports what happens to its connection. After the attempt has
// Failed, and after Disconnected or Broken, the queue pair touches no request or receive any
// more and reports nothing more.
type Upcalls interface {
	// Established says that the connection stands; data may be delivered from now on. answer
	// is the peer's answer on the active side, which is copied, and nil on the passive one.
	// An error says that the peer's read depths do not fit: the endpoint counts as refused,
	// and the queue pair ends the connection the way its protocol has for this (iWARP:
	// Terminate 2/0/06), reporting nothing more.
	Established(answer *Proposal, local, remote netip.AddrPort) error
	// Failed says that the connection was not made. privateData is that of a reject and is
	// copied. err is the cause, for people.
	Failed(why Failure, privateData []byte, err error)
	// Disconnected says that an established connection has ended in order, by either side.
	// What is posted is flushed.
	Disconnected()
	// Broken says that an established connection has failed. The request or receive that
	// failed with it, if any, was reported by Fail before. The rest is flushed.
	Broken(err error)
}

// ServicePointConfig is the address to listen at and the upcall for requests.
type ServicePointConfig struct {
	// Address may have port 0 for any free one, and no address for the adapter's own.
	Address netip.AddrPort
	// Backlog is how many requests Arrived takes before they are answered.
	Backlog int
	// Arrived is the upcall that hands over a request: its Handshake, its two ends (remote's
	// port is the port qualifier of the active side) and what the active side proposes,
	// which is copied. An error says that the request is not taken; the provider refuses it
	// then.
	Arrived func(h Handshake, local, remote netip.AddrPort, p *Proposal) error
}

// ServicePoint is a place where requests arrive.
type ServicePoint interface {
	// Address is where it listens. It may be called without the lock.
	Address() netip.AddrPort
	// Close refuses new requests. Handshakes that were reported stay valid.
	Close()
}

// Handshake is the passive side of a connection before it is answered. Exactly one of its
// methods is called, once. It stays valid when the active side has gone: an Accept of such a
// one ends in Upcalls.Failed.
type Handshake interface {
	// Accept continues on a queue pair of the same device, which has not been used. The
	// outcome is Upcalls.Established(nil, ...) or Upcalls.Failed, from within or later.
	// answer and its PrivateData are valid during the call.
	Accept(qp QueuePair, answer *Proposal)
	// Reject answers that the consumer rejects, with its private data, which is valid during
	// the call (EventPeerRejected at the other end).
	Reject(privateData []byte)
	// Refuse ends it without a consumer's answer (EventNonPeerRejected there).
	Refuse()
}
