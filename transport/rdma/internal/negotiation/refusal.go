package negotiation

import (
	"errors"
	"fmt"
)

// RefusalError says that a connection was refused, by the peer or by this side.
type RefusalError struct {
	// Reject is what was sent or received.
	Reject Reject
	// Remote says that the peer refused.
	Remote bool
	// Detail is what this side saw; the peer's is not carried.
	Detail string
}

// Error names the side that refused, the reason, and the remedy.
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

// UnprovenError says that a refusal came that does not bear the tag of the rank that
// was asked. Anybody on the way can have written it, or a rank with another secret.
// It is none of the errors of Refused: it ends one attempt.
type UnprovenError struct {
	// Reason is what it says.
	Reason Reason
}

// Error says what the refusal says, and what to do if it is true.
func (e *UnprovenError) Error() string {
	return fmt.Sprintf("refused (%v) by something that does not prove that it is the peer: if it is, %s", e.Reason, e.Reason.Remedy())
}

// RejectOf returns what to answer a request with that failed with err. An error that
// is no refusal is answered with Busy.
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
