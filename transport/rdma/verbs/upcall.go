package verbs

import "net/netip"

// Failure is why a connection was not made, as a provider sees it.
type Failure uint8

const (
	// FailureRefused is every reason but the others.
	FailureRefused Failure = iota + 1
	// FailureRejected says that the remote consumer rejected.
	FailureRejected
	// FailureUnreachable says that the remote host cannot be reached.
	FailureUnreachable
	// FailureTimedOut says that the remote host took the request and the provider's
	// own patience with its answer has ended.
	FailureTimedOut
)

// Upcalls is where a QueuePair reports what happens to its connection. The methods
// are called under the adapter's lock, from within a method of the Device or of what
// it made. They do not call back. After the attempt has Failed, and after
// Disconnected or Broken, the queue pair touches no request or receive any more and
// reports nothing more.
type Upcalls struct{ ep *Endpoint }

// Established says that the connection stands; data may be delivered from now on.
// answer is the peer's answer on the active side and nil on the passive one. An
// error says that the peer's read depths do not fit: the endpoint counts as refused,
// and the queue pair ends the connection the way its protocol has for this (iWARP:
// Terminate 2/0/06), reporting nothing more.
func (u *Upcalls) Established(answer *Proposal, local, remote netip.AddrPort) error {
	return u.ep.established(answer, local, remote)
}

// Failed says that the connection was not made. privateData is that of a reject and
// is copied. err is the cause, for people.
func (u *Upcalls) Failed(why Failure, privateData []byte, err error) {
	u.ep.failed(why, privateData, err)
}

// Disconnected says that an established connection has ended in order, by either
// side. What is posted is flushed.
func (u *Upcalls) Disconnected() { u.ep.ended(EventDisconnected, nil) }

// Broken says that an established connection has failed. The request or receive
// that failed with it, if any, was reported by Fail before. The rest is flushed.
func (u *Upcalls) Broken(err error) { u.ep.ended(EventBroken, err) }

// RequestSink is where a ServicePoint reports requests.
type RequestSink struct{ listener *Listener }

// Arrived hands over a request: its Handshake, its two ends (remote's port is the
// port qualifier of the active side) and what the active side proposes, which is
// copied. An error (ErrBacklogFull, ErrQoSRefused, ErrNotListening) says that the
// request is not taken; the provider refuses it then.
func (s *RequestSink) Arrived(h Handshake, local, remote netip.AddrPort, p *Proposal) error {
	return s.listener.arrived(h, local, remote, p)
}
