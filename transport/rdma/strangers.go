package rdma

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
)

// Strangers counts the requests that were refused because their record did not
// verify, and the refusals that were not believed. What does not even speak the
// provider's protocol is the provider's to count. It may be read from any goroutine.
type Strangers struct {
	// OtherJob counts records of another job, Unproved those whose tag does not
	// verify, Foreign what is no record or one of another version, Misplaced records
	// of ranks that there are not.
	OtherJob, Unproved, Foreign, Misplaced atomic.Uint64
	// Refusals counts refusals of requests of this rank that do not prove to be of the
	// rank that was asked. Each was the end of one attempt.
	Refusals atomic.Uint64

	once sync.Once
}

// Strangers returns the counters.
func (t *Transport) Strangers() *Strangers { return &t.strangers }

// count notes a stranger, and writes about the first one.
func (s *Strangers) count(t *Transport, from netip.AddrPort, err error) {
	counter := &s.Foreign
	switch {
	case errors.Is(err, negotiation.Refused(negotiation.Job)):
		counter = &s.OtherJob
	case errors.Is(err, negotiation.Refused(negotiation.Auth)):
		counter = &s.Unproved
	case errors.Is(err, negotiation.Refused(negotiation.WrongRank)):
		counter = &s.Misplaced
	}
	counter.Add(1)
	s.once.Do(func() {
		t.config.Log(fmt.Sprintf("rdma: a request from %v was %v; more of that kind are counted in silence", from, err))
	})
}
