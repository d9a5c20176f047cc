package verbs_test

import (
	"testing"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// TestBacklog checks that the backlog limits the number of unanswered requests, and that an Accept or a Reject
// makes room for another request.
func TestBacklog(t *testing.T) {
	const backlog = 3
	p := newPlay(t, nil)
	l, err := p.adapter.Listen(verbs.ListenOptions{Queue: p.queue, Backlog: backlog})
	p.NoError(err)
	arrives := func() (err error) {
		p.within(func() {
			err = p.stage.sinks[0].Arrived(&silentHandshake{}, l.Address(), remote, &provider.Proposal{})
		})
		return err
	}
	for range backlog {
		p.NoError(arrives())
	}
	p.ErrorIs(arrives(), verbs.ErrBacklogFull)
	requests := p.poll()
	p.Len(requests, backlog)
	p.ErrorIs(arrives(), verbs.ErrBacklogFull, "taken out of the queue is not answered")
	ep, _ := p.make(nil)
	p.NoError(requests[0].Event.Request.Accept(ep, nil))
	p.NoError(arrives())
	p.ErrorIs(arrives(), verbs.ErrBacklogFull)
	p.NoError(requests[1].Event.Request.Reject(nil))
	p.NoError(arrives())
	p.ErrorIs(arrives(), verbs.ErrBacklogFull)
}
