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

// Error says who refused, why, and what to do.
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
	case reason == Depth && e.Remote:
		text += fmt.Sprintf(": it needs IRD %d and ORD %d of this side", e.Reject.Required.IRD, e.Reject.Required.ORD)
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

// RejectOf returns what to answer a request with that failed with err; nonce is
// NonceOf the request. An error that is no refusal is answered with Busy.
func RejectOf(err error, nonce uint32) Reject {
	var refusal *RefusalError
	if !errors.As(err, &refusal) {
		return Reject{Reason: Busy, Nonce: nonce}
	}
	r := refusal.Reject
	r.Nonce = nonce
	return r
}

func refuse(r Reason, format string, args ...any) *RefusalError {
	return &RefusalError{Reject: Reject{Reason: r}, Detail: fmt.Sprintf(format, args...)}
}
