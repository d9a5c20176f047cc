package negotiation

import (
	"errors"
	"fmt"
)

// RefusalError reports that a connection was refused, by the peer or by this side.
type RefusalError struct {
	// Reject is the reject that was sent or received.
	Reject Reject
	// Remote is true if the peer has refused the connection, and false if this side has refused it.
	Remote bool
	// Detail says which error this side has found in the request or reply. A Reject does not
	// contain the detail of the peer.
	Detail string
}

// Error returns a text with the side that refused, the reason, and the remedy.
func (e *RefusalError) Error() string {
	who, reason := "refused", e.Reject.Reason
	if e.Remote {
		who = "refused by the peer"
	}
	text := fmt.Sprintf("%s (%v)", who, reason)
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	switch {
	case reason == Version && e.Remote:
		text += fmt.Sprintf(": it understands versions %d to %d, this side writes %d.%d", e.Reject.MajorMin, e.Reject.MajorMax, Major, Minor)
	case reason == StaleEpoch && e.Remote:
		text += fmt.Sprintf(": it knows incarnation %d of this rank", e.Reject.Incarnation)
	}
	return text + "; " + reason.Remedy()
}

// Is matches another refusal for the same reason, so that
// errors.Is(err, negotiation.Refused(negotiation.Busy)) works.
func (e *RefusalError) Is(target error) bool {
	other, ok := target.(*RefusalError)
	return ok && other.Reject.Reason == e.Reject.Reason
}

// Refused returns an error to compare with by errors.Is.
func Refused(r Reason) error { return &RefusalError{Reject: Reject{Reason: r}} }

// UnprovenError reports a refusal without a valid tag of the rank to which the request was sent.
// Anybody on the network path, or a rank with another secret, can have written the refusal. An
// UnprovenError matches no error that Refused returns, and ends only one attempt.
type UnprovenError struct {
	// Reason is the reason in the refusal.
	Reason Reason
}

// Error returns a text with the reason in the refusal, and the remedy for the case that the peer
// has written the refusal.
func (e *UnprovenError) Error() string {
	return fmt.Sprintf("refused (%v), without a valid proof that the refusal is from the peer; if it is from the peer: %s", e.Reason, e.Reason.Remedy())
}

// RejectOf returns the Reject for a request whose processing failed with err. If err is not a
// *RefusalError, the reason is Busy.
func RejectOf(err error) Reject {
	var refusal *RefusalError
	if !errors.As(err, &refusal) {
		return Reject{Reason: Busy}
	}
	return refusal.Reject
}

func refuse(r Reason, format string, args ...any) *RefusalError {
	return &RefusalError{Reject: Reject{Reason: r}, Detail: fmt.Sprintf(format, args...)}
}
