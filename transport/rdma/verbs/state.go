package verbs

import "fmt"

// State is the state of an Endpoint (dat_ep_get_status(3DAT)).
type State uint8

// The states. docs/connection-model.md has the table of transitions.
const (
	// StateUnconnected is quiescent: made or reset, and not yet used.
	StateUnconnected State = iota + 1
	// StateReserved belongs to the endpoint of a reserved service point to which no
	// request has come yet.
	StateReserved
	// StateActiveConnectionPending follows a successful Connect.
	StateActiveConnectionPending
	// StatePassiveConnectionPending says that a request waits that carries this
	// endpoint; Accept or Reject follows.
	StatePassiveConnectionPending
	// StateTentativeConnectionPending is that of an endpoint the adapter itself made
	// for a request. No adapter of this package does (see ListenOptions).
	StateTentativeConnectionPending
	// StateCompletionPending follows a successful Accept until the transport has
	// finished the connection.
	StateCompletionPending
	// StateConnected is the only state in which data move.
	StateConnected
	// StateDisconnectPending follows a graceful Disconnect until the requests posted
	// before it are done.
	StateDisconnectPending
	// StateDisconnected is the end of a connection or of an attempt. What is posted
	// now is flushed at once. Reset leads back to StateUnconnected.
	StateDisconnected
	// StateError says that the queue pair itself is lost: its completion queue
	// overflowed or its adapter failed. Only Query, Status and Free are left.
	StateError
	// StateFreed is that of an endpoint after Free. Every call but Free fails with
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

// String returns the name on the pages, without DAT_EP_STATE_.
func (s State) String() string {
	if int(s) < len(stateNames) && stateNames[s] != "" {
		return stateNames[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}
