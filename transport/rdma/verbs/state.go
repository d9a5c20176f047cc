package verbs

import "fmt"

// State is the state of an Endpoint (dat_ep_get_status(3DAT)).
type State uint8

// The states. docs/connection-model.md has the table of transitions.
const (
	// StateUnconnected is the state of an endpoint after NewEndpoint or Reset, before it takes
	// part in a connection attempt.
	StateUnconnected State = iota + 1
	// StateReserved is the state of the endpoint of a reserved service point until a request
	// arrives at the service point.
	StateReserved
	// StateActiveConnectionPending follows a successful Connect.
	StateActiveConnectionPending
	// StatePassiveConnectionPending means that a request that carries this endpoint has
	// arrived and waits for Accept or Reject.
	StatePassiveConnectionPending
	// StateTentativeConnectionPending is the state of an endpoint that the adapter itself has made
	// for a request. It does not occur, because no adapter makes such endpoints (see
	// ListenOptions.AdapterEndpoints).
	StateTentativeConnectionPending
	// StateCompletionPending follows a successful Accept. It ends when the transport has completed
	// the connection.
	StateCompletionPending
	// StateConnected is the state of an established connection. It is the only state in which a
	// newly posted request is carried out.
	StateConnected
	// StateDisconnectPending follows a graceful Disconnect. It ends when the requests that were
	// posted before are complete and the connection has ended.
	StateDisconnectPending
	// StateDisconnected follows the end of a connection or of a connection attempt. Requests and
	// receives that are posted in this state are flushed at once. Reset leads back to
	// StateUnconnected.
	StateDisconnected
	// StateError means that the queue pair is unusable, because a completion queue of the
	// endpoint overflowed or the adapter failed. Only Query, Status and Free are possible.
	StateError
	// StateFreed follows Free or Adapter.Close. After that, every method with an error result, except Free, fails with
	// ErrInvalidHandle.
	StateFreed
)

var stateNames = [...]string{
	StateUnconnected:                "UNCONNECTED",
	StateReserved:                   "RESERVED",
	StateActiveConnectionPending:    "ACTIVE_CONNECTION_PENDING",
	StatePassiveConnectionPending:   "PASSIVE_CONNECTION_PENDING",
	StateTentativeConnectionPending: "TENTATIVE_CONNECTION_PENDING",
	StateCompletionPending:          "COMPLETION_PENDING",
	StateConnected:                  "CONNECTED",
	StateDisconnectPending:          "DISCONNECT_PENDING",
	StateDisconnected:               "DISCONNECTED",
	StateError:                      "ERROR",
	StateFreed:                      "FREED",
}

// String returns the name that the state has on the manual pages, without DAT_EP_STATE_.
func (s State) String() string {
	if int(s) < len(stateNames) && stateNames[s] != "" {
		return stateNames[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}
