package rdma

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// Strangers counts the requests that were refused, and the refusals that were not
// believed. What does not even speak the provider's protocol is the provider's to
// count, and so are requests that its backlog had no room for. It may be read from any
// goroutine.
type Strangers struct {
	// OtherJob counts records of another job, Unproved those whose tag does not
	// verify and first messages without the proof, Foreign what is no record or one of another version, Misplaced records
	// of ranks outside of the job.
	OtherJob, Unproved, Foreign, Misplaced atomic.Uint64
	// Repeated counts requests whose record verifies and is not the newest one of its
	// rank, such as a recorded one that is sent again; those of an earlier life of a rank,
	// and of one that was declared dead, are among them, and one that comes late because
	// two crossed each other. Declined counts those of ranks that have to come at another
	// time or with other terms. Of two requests that cross each other one is refused in
	// time, and not counted.
	Repeated, Declined atomic.Uint64
	// Refusals counts refusals of requests of this rank that do not prove to be of the
	// rank that was asked. Each was the end of one attempt.
	Refusals atomic.Uint64

	once sync.Once
}

// Strangers returns the counters.
func (t *Transport) Strangers() *Strangers { return &t.strangers }

// knocked determines the sender of a request, and refuses those without a valid one at once: no
// actor is told of a stranger, and no other goroutine has to run.
func (t *Transport) knocked(r *rail, request *verbs.ConnectionRequest) {
	info, err := request.Query()
	if err != nil {
		return // answered meanwhile, by the end of the adapter
	}
	asked := info.Param.PrivateData
	record, err := t.credentials.OpenRequest(asked)
	if err != nil {
		t.strangers.count(t, info.Remote, err)
		t.reject(request, negotiation.RejectOf(err), asked)
		return
	}
	t.supervision.send(requested{&link{
		peer: int(record.Source), rail: r, peerRail: record.Rail, request: request, proposal: record, asked: asked, remote: info.Remote,
		event: eventDepths(&info.Param), purpose: record.Purpose,
	}})
}

// reject refuses a request that came with this private data. Actors and Poll call it.
func (t *Transport) reject(request *verbs.ConnectionRequest, r negotiation.Reject, asked []byte) {
	_ = request.Reject(t.credentials.AppendReject(nil, &r, asked)) // it may have gone by itself
}

// eventDepths are the depths as the provider says that they were proposed, unknown
// where it does not carry them.
func eventDepths(p *verbs.ConnParam) negotiation.Event {
	if p.ResponderResources == verbs.DepthDefault || p.InitiatorDepth == verbs.DepthDefault {
		return negotiation.Event{}
	}
	return negotiation.Event{ResponderResources: p.ResponderResources, InitiatorDepth: p.InitiatorDepth}
}

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
		t.log.Log(fmt.Sprintf("rdma: a request from %v was %v; more of that kind are counted in silence", from, err))
	})
}

// declined notes that a request of a rank is refused.
func (s *Strangers) declined(why negotiation.Reason) {
	switch why {
	case negotiation.Simultaneous:
	case negotiation.Duplicate, negotiation.StaleEpoch:
		s.Repeated.Add(1)
	default:
		s.Declined.Add(1)
	}
}
