package verbs

import (
	"fmt"
	"net/netip"
)

// EventType is what a connection event says (DAT_CONNECTION_EVENT_*).
type EventType uint8

const (
	// EventConnectionRequest hands a listener's request to the consumer.
	EventConnectionRequest EventType = iota + 1
	// EventEstablished says that the connection stands, on either side.
	EventEstablished
	// EventPeerRejected says that the remote consumer rejected the request.
	EventPeerRejected
	// EventNonPeerRejected says that the connection was not made for a reason that is
	// none of the other events: nothing listens, the backlog is full, the remote provider
	// lacks the QoS, the transport failed.
	EventNonPeerRejected
	// EventAcceptCompletionError says that an accepted connection was not finished.
	EventAcceptCompletionError
	// EventUnreachable says that the remote host was not reached, or nothing of it
	// answered within the timeout.
	EventUnreachable
	// EventTimedOut says that the remote host took the request and did not answer it
	// within the timeout.
	EventTimedOut
	// EventDisconnected says that the connection ended in order, by either side.
	EventDisconnected
	// EventBroken says that the connection failed.
	EventBroken
	// EventLimitReached says that a shared receive queue holds fewer receives than its
	// limit. It comes once for each SetLimit.
	EventLimitReached
	// EventRemoved says that the adapter has ended because its device is gone or has
	// failed: every endpoint and queue of it is dead.
	EventRemoved
	// EventPortDown says that the adapter's port lost its link. A connection that fails of it
	// says so by an event of its own.
	EventPortDown
	// EventPortUp says that the port has its link.
	EventPortUp
	// EventAddressChanged says that addresses of the adapter's interface have changed:
	// listeners and cards that name the old ones may be out of date.
	EventAddressChanged
)

var eventNames = [...]string{
	EventConnectionRequest: "CONNECTION_REQUEST", EventEstablished: "ESTABLISHED", EventPeerRejected: "PEER_REJECTED",
	EventNonPeerRejected: "NON_PEER_REJECTED", EventAcceptCompletionError: "ACCEPT_COMPLETION_ERROR",
	EventUnreachable: "UNREACHABLE", EventTimedOut: "TIMED_OUT", EventDisconnected: "DISCONNECTED",
	EventBroken: "BROKEN", EventLimitReached: "LIMIT_REACHED", EventRemoved: "REMOVED",
	EventPortDown: "PORT_DOWN", EventPortUp: "PORT_UP", EventAddressChanged: "ADDRESS_CHANGED",
}

// String returns the name on the pages, without DAT_CONNECTION_EVENT_.
func (t EventType) String() string {
	if int(t) < len(eventNames) && eventNames[t] != "" {
		return eventNames[t]
	}
	return fmt.Sprintf("EventType(%d)", uint8(t))
}

// Event is a connection event. It belongs to the consumer that polled it.
type Event struct {
	Type EventType
	// Endpoint is the local endpoint, for a request the one of a reserved service point.
	Endpoint *Endpoint
	// Local and Remote are the two ends, as far as they are known. Remote's port is
	// the port qualifier of the active side.
	Local, Remote netip.AddrPort
	// PrivateData came with the peer's accept (EventEstablished on the active side) or
	// reject (EventPeerRejected).
	PrivateData []byte
	// ResponderResources and InitiatorDepth are final with EventEstablished: the IRD
	// and the ORD of the local endpoint.
	ResponderResources, InitiatorDepth int
	// Request is that of EventConnectionRequest.
	Request *ConnectionRequest
	// SharedReceiveQueue is that of EventLimitReached.
	SharedReceiveQueue *SharedReceiveQueue
	// Err is the cause, where the type alone does not say it.
	Err error
}
