package rdmacm

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Kind is the kind of an event (enum rdma_cm_event_type). A newer kernel may report other kinds.
type Kind uint32

// The kinds of events of connections and listeners.
const (
	AddressResolved Kind = 0
	AddressError    Kind = 1
	RouteResolved   Kind = 2
	RouteError      Kind = 3
	// ConnectRequest: a request has reached a listener. Event.Request is the new id.
	ConnectRequest Kind = 4
	// ConnectResponse: the peer has accepted, and this side has to confirm with Accept. This event
	// does not occur on iWARP.
	ConnectResponse Kind = 5
	ConnectError    Kind = 6
	Unreachable     Kind = 7
	Rejected        Kind = 8
	Established     Kind = 9
	Disconnected    Kind = 10
	// DeviceRemoval: the device of the id was removed, with all its queue pairs and memory regions.
	DeviceRemoval Kind = 11
	AddressChange Kind = 14
	// TimewaitExit: the queue pair may be used again.
	TimewaitExit Kind = 15
)

var kindNames = [...]string{
	AddressResolved: "ADDR_RESOLVED", AddressError: "ADDR_ERROR", RouteResolved: "ROUTE_RESOLVED", RouteError: "ROUTE_ERROR",
	ConnectRequest: "CONNECT_REQUEST", ConnectResponse: "CONNECT_RESPONSE", ConnectError: "CONNECT_ERROR",
	Unreachable: "UNREACHABLE", Rejected: "REJECTED", Established: "ESTABLISHED", Disconnected: "DISCONNECTED",
	DeviceRemoval: "DEVICE_REMOVAL", AddressChange: "ADDR_CHANGE", TimewaitExit: "TIMEWAIT_EXIT",
}

// String returns the kernel's name of the kind without the prefix RDMA_CM_EVENT_.
func (k Kind) String() string {
	if int64(k) < int64(len(kindNames)) && kindNames[k] != "" {
		return kindNames[k]
	}
	return fmt.Sprintf("event %d", uint32(k))
}

// Event is an event of an id. It shares no memory with the channel.
type Event struct {
	Kind Kind
	// ID is the id of the event. In a ConnectRequest it is the listener.
	ID *ID
	// Request is the new id of a ConnectRequest. Next returns no events of this id before the
	// request is accepted. If the peer gives up before the request is accepted, this side learns
	// of it only by the error of Accept.
	Request *ID
	// Status is 0, a negative errno, or, in a Rejected on InfiniBand and RoCE, the reason (enum
	// ib_cm_rej_reason).
	Status     int32
	Parameters Parameters
}

// The reasons of a rejection (enum ib_cm_rej_reason) for which Err has a text.
const (
	ReasonTimeout          = 4
	ReasonInvalidServiceID = 8
	ReasonStaleConnection  = 10
	ReasonConsumer         = 28
)

var reasonNames = map[int32]string{
	ReasonTimeout: "timeout", ReasonInvalidServiceID: "nothing listens there", ReasonStaleConnection: "stale connection",
	ReasonConsumer: "by the peer's program",
}

// decode reads a struct rdma_ucm_event_resp.
func (e *Event) decode(from words) {
	*e = Event{Kind: Kind(from.at32(eventKind)), Status: int32(from.at32(eventStatus))}
	e.Parameters.decode(from[eventParameters:])
}

// Err returns the error that the event reports, or nil if it reports none.
func (e *Event) Err() error {
	switch {
	case e.Status < 0:
		return fmt.Errorf("%v: %w", e.Kind, unix.Errno(-int64(e.Status)))
	case e.Kind == Rejected && reasonNames[e.Status] != "":
		return fmt.Errorf("%v: %w: %s", e.Kind, unix.ECONNREFUSED, reasonNames[e.Status])
	case e.Kind == Rejected:
		return fmt.Errorf("%v: %w: reason %d", e.Kind, unix.ECONNREFUSED, e.Status)
	case e.Kind == Unreachable:
		return fmt.Errorf("%v: %w: status %d", e.Kind, unix.EHOSTUNREACH, e.Status)
	case e.Kind == DeviceRemoval:
		return fmt.Errorf("%v: %w", e.Kind, unix.ENODEV)
	case e.Kind == AddressError, e.Kind == RouteError, e.Kind == ConnectError:
		return fmt.Errorf("%v: %w: status %d", e.Kind, unix.EIO, e.Status)
	default:
		return nil
	}
}
