package rdma

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// Try is an address of a peer at which a connection was requested, with the results.
type Try struct {
	// Adapter is the adapter of this rank that was used, or "" if the rank has only one.
	Adapter string
	// Address is the address at which the peer should listen, as Config.Lookup returned it.
	Address netip.AddrPort
	// Attempts is the number of attempts at the address.
	Attempts int
	// Own reports whether the address is also an address of this host, and either nothing listens there or
	// this rank itself listens there. In this case the attempt did not reach the peer's host.
	Own bool
	// Err is the error of the last attempt that failed, or nil if none has failed yet.
	Err error

	way candidate
}

// String returns the address and the result of the attempts.
func (t Try) String() string {
	s := t.Address.String()
	if t.Adapter != "" {
		s += " on " + t.Adapter
	}
	if t.Attempts == 1 {
		s += " (1 attempt): "
	} else {
		s += fmt.Sprintf(" (%d attempts): ", t.Attempts)
	}
	if t.Err == nil {
		return s + "no answer so far"
	}
	if end, ok := t.Err.(*endError); ok { //nolint:errorlint // an error that wraps an endError says more
		return s + end.reason()
	}
	return s + t.Err.Error()
}

// UnreachedError is the reason why no connection with a peer was established. It wraps its Cause
// and the errors of all Tries.
type UnreachedError struct {
	// Host is the name of the host of the peer, or "" if it is not known.
	Host string
	// For is the time for which attempts were made.
	For time.Duration
	// Lost reports whether a connection was in use before.
	Lost bool
	// Tries are the addresses that were tried, in the order of their first attempts.
	Tries []Try
	// Cause is the reason why no more attempts are made.
	Cause error
}

// Error names the host, if it is known, and every address with the result of the attempts. It also
// names what the user can do, or else a fact about the failure (see remedy).
func (e *UnreachedError) Error() string {
	s := "no connection"
	if e.Host != "" {
		s += " with host " + e.Host
	}
	return fmt.Sprintf("%s within %v: %s; %s", s, max(e.For, time.Millisecond), triesText(e.Tries), e.remedy())
}

// Unwrap returns the cause and the errors of all addresses.
func (e *UnreachedError) Unwrap() []error {
	list := []error{e.Cause}
	for _, t := range e.Tries {
		if t.Err != nil {
			list = append(list, t.Err)
		}
	}
	return list
}

// remedy returns a likely reason of the failure, and what the user can do if that is known.
func (e *UnreachedError) remedy() string {
	const choose = "gorun -net INTERFACE, ADDRESS or CIDR chooses a network that all hosts are on"
	switch {
	case e.Lost:
		return "a connection was in use before"
	case slices.ContainsFunc(e.Tries, func(t Try) bool { return t.Own }):
		return "this host also has that address: " + choose
	case errors.Is(e.Cause, peering.ErrAbsent):
		return "nothing listens there, or a firewall rejects connections: " + choose
	case !slices.ContainsFunc(e.Tries, func(t Try) bool { return !t.local() }):
		return "this rank could not send a connection request"
	case slices.ContainsFunc(e.Tries, Try.unreached):
		return "a firewall may drop packets to the ports of ranks, or there is no route: " + choose
	default:
		return "the process that listens there does not answer like a rank of this job"
	}
}

// unreached reports whether no process seems to answer at the address.
func (t Try) unreached() bool {
	var end *endError
	return t.Err == nil || errors.As(t.Err, &end) && end.kind == verbs.EventUnreachable
}

// local reports whether the attempt failed at this rank, before anything was sent.
func (t Try) local() bool {
	var op *verbs.OpError
	var end *endError
	return errors.As(t.Err, &op) && !errors.As(t.Err, &end)
}

func triesText(tries []Try) string {
	list := make([]string, len(tries))
	for i, t := range tries {
		list[i] = t.String()
	}
	return strings.Join(list, ", ")
}

// endError is the event that has ended an attempt or a connection.
type endError struct {
	remote netip.AddrPort
	kind   verbs.EventType
	cause  error
}

// Error implements error.
func (e *endError) Error() string {
	if e.cause == nil {
		return fmt.Sprintf("connection %v: %v", e.remote, e.kind)
	}
	return fmt.Sprintf("connection %v: %v: %v", e.remote, e.kind, e.cause)
}

// Unwrap returns the cause.
func (e *endError) Unwrap() error { return e.cause }

// reason returns a text with the reason of the end, without the address.
func (e *endError) reason() string {
	var errno syscall.Errno
	switch {
	case errors.As(e.cause, &errno):
		return errno.Error()
	case e.cause != nil:
		return e.cause.Error()
	case e.kind == verbs.EventUnreachable:
		return "no host answers"
	case e.kind == verbs.EventTimedOut:
		return "the host accepted the request and the peer did not answer in time"
	default:
		return e.kind.String()
	}
}

// errSelf is the error of an attempt of a rank to connect with itself.
var errSelf = errors.New("this rank listens there itself")

// absent reports whether an attempt found that nothing listens at the address, or that this rank
// itself listens there.
func absent(err error) bool {
	return errors.Is(err, verbs.ErrNotListening) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, errSelf)
}

// search is the state of the attempts to connect with a peer. The actor of the peer owns it.
type search struct {
	began time.Time
	tries []Try
	turn  int
}

// at returns the Try of a candidate. It makes the Try if the candidate has none.
func (s *search) at(a candidate) *Try {
	i := slices.IndexFunc(s.tries, func(t Try) bool { return t.way == a })
	if i < 0 {
		i = len(s.tries)
		t := Try{Address: a.to.Address, way: a}
		if len(a.rail.t.rails) > 1 {
			t.Adapter = a.rail.name()
		}
		s.tries = append(s.tries, t)
	}
	return &s.tries[i]
}

// next chooses the candidate of the next attempt. The candidates take turns. Candidates whose
// address turned out to be an address of this host are left out. It returns false if no candidate
// is left.
func (s *search) next(list []candidate) (candidate, bool) {
	for range list {
		a := list[s.turn%len(list)]
		s.turn++
		if t := s.at(a); !t.Own {
			if len(s.tries) == 1 && t.Attempts == 0 {
				s.began = time.Now()
			}
			t.Attempts++
			return a, true
		}
	}
	return candidate{}, false
}

// note records the failure of an attempt. own reports whether the address is an address of this
// host.
func (s *search) note(a candidate, err error, own bool) {
	t := s.at(a)
	t.Err, t.Own = err, own && absent(err)
}

// over reports whether every candidate is known to lead to this host.
func (s *search) over(list []candidate) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(a candidate) bool {
		return !slices.ContainsFunc(s.tries, func(t Try) bool { return t.way == a && t.Own })
	})
}

// String describes the state of the search.
func (s *search) String() string {
	if len(s.tries) == 0 {
		return ""
	}
	return "not connected: " + triesText(s.tries)
}
