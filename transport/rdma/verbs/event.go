package verbs

import (
	"fmt"
	"net/netip"
)

// EventType is the type of an Event. The types of connection events are those of
// DAT_CONNECTION_EVENT_*.
type EventType uint8

const (
	// EventConnectionRequest delivers to the consumer a connection request that has reached a
	// listener.
	EventConnectionRequest EventType = iota + 1
	// EventEstablished reports, on both sides, that the connection is established.
	EventEstablished
	// EventPeerRejected reports that the remote consumer rejected the request.
	EventPeerRejected
	// EventNonPeerRejected reports that the connection was not made, for a reason that no
	// other event covers: nothing listens, the backlog is full, the remote provider lacks
	// the QoS, the read depths are incompatible, or the transport failed.
	EventNonPeerRejected
	// EventAcceptCompletionError reports that a connection failed after Accept and before it
	// was established.
	EventAcceptCompletionError
	// EventUnreachable reports that the remote host could not be reached, or that it did not
	// respond at all within the timeout.
	EventUnreachable
	// EventTimedOut reports that the remote host received the connection request, as far as the
	// transport can tell, but the answer did not arrive within the timeout.
	EventTimedOut
	// EventDisconnected reports that either side ended the connection gracefully, or that Disconnect
	// on this side ended the connection or the connection attempt.
	EventDisconnected
	// EventBroken reports that the connection failed, or that the adapter failed or a completion
	// queue of the endpoint overflowed during a connection attempt.
	EventBroken
	// EventLimitReached reports that a shared receive queue holds fewer receives than its
	// limit. It comes at most once for each SetLimit.
	EventLimitReached
	// EventRemoved reports that the adapter has ended because its device is gone or has
	// failed. All endpoints and queues of the adapter are dead.
	EventRemoved
	// EventPortDown reports that the adapter's port lost its link. If a connection fails because
	// of the lost link, an event of the connection reports the failure.
	EventPortDown
	// EventPortUp reports that the port has a link again.
	EventPortUp
	// EventAddressChanged reports that addresses of the adapter's interface have changed. Listeners
	// at the old addresses, and published records (cards) with the old addresses, may be out of
	// date.
	EventAddressChanged
)

var eventNames = [...]string{
	EventConnectionRequest: "CONNECTION_REQUEST", EventEstablished: "ESTABLISHED", EventPeerRejected: "PEER_REJECTED",
	EventNonPeerRejected: "NON_PEER_REJECTED", EventAcceptCompletionError: "ACCEPT_COMPLETION_ERROR",
	EventUnreachable: "UNREACHABLE", EventTimedOut: "TIMED_OUT", EventDisconnected: "DISCONNECTED",
	EventBroken: "BROKEN", EventLimitReached: "LIMIT_REACHED", EventRemoved: "REMOVED",
	EventPortDown: "PORT_DOWN", EventPortUp: "PORT_UP", EventAddressChanged: "ADDRESS_CHANGED",
}

// String returns the name of the event. For a connection event it is the name on the manual pages,
// without DAT_CONNECTION_EVENT_.
func (t EventType) String() string {
	if int(t) < len(eventNames) && eventNames[t] != "" {
		return eventNames[t]
	}
	return fmt.Sprintf("EventType(%d)", uint8(t))
}

// Event is an event of a connection, of a listener, of a shared receive queue, or of the adapter. It
// belongs to the consumer that polled it.
type Event struct {
	Type EventType
	// Endpoint is the local endpoint. For EventConnectionRequest it is the endpoint that the
	// request carries, or nil (see ListenOptions.Endpoint). Events of a shared receive queue or of
	// the adapter have no endpoint.
	Endpoint *Endpoint
	// Local and Remote are the addresses of the two ends, as far as they are known. On the
	// passive side, the port of Remote is the port qualifier of the active side.
	Local, Remote netip.AddrPort
	// PrivateData are the bytes that the peer passed to Accept or Reject. They are set for
	// EventEstablished on the active side and for EventPeerRejected.
	PrivateData []byte
	// ResponderResources and InitiatorDepth are the final IRD and ORD of the local endpoint. They
	// are set for EventEstablished.
	ResponderResources, InitiatorDepth int
	// Request is the connection request of EventConnectionRequest.
	Request *ConnectionRequest
	// SharedReceiveQueue is the queue of EventLimitReached.
	SharedReceiveQueue *SharedReceiveQueue
	// Err is the cause of the event. It is nil if Type describes the event completely.
	Err error
}
