package verbs_test

import (
	"testing"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// TestLimitIsSaidOnce: a shared receive queue that falls below its limit says so once, and
// again when it is asked again.
func TestLimitIsSaidOnce(t *testing.T) {
	p := newPlay(t, nil)
	q, err := p.adapter.NewCompletionQueue(16)
	p.NoError(err)
	shared, err := p.adapter.NewSharedReceiveQueue(verbs.SharedReceiveConfig{Domain: p.domain, Limits: q, MaxReceives: 8, MaxSegments: 1})
	p.NoError(err)
	ep, a := p.make(func(c *verbs.EndpointConfig) { c.SharedReceives = shared })
	p.connect(ep, a, 1)
	for id := range uint64(8) {
		p.NoError(shared.PostReceive(&verbs.ReceiveRequest{ID: id}))
	}
	p.NoError(shared.SetLimit(6))
	into := make([]verbs.Completion, 16)
	for _, step := range []struct{ left, events int }{{7, 0}, {6, 0}, {5, 1}, {4, 0}} {
		p.within(func() { a.Receives.Deliver(a.Receives.Peek(), 0) })
		p.Equal(step.events, q.Poll(into), "%d are left", step.left)
	}
	p.Equal(verbs.EventLimitReached, into[0].Event.Type)
	p.Same(shared, into[0].Event.SharedReceiveQueue)
	p.NoError(shared.SetLimit(5))
	p.Equal(1, q.Poll(into), "it is so already")
	p.NoError(shared.SetLimit(2))
	p.Zero(q.Poll(into))
	p.NoError(shared.SetLimit(0))
	p.within(func() {
		for range 4 {
			a.Receives.Done(a.Receives.Next(), 0, 0, 0)
		}
	})
	p.Zero(q.Poll(into), "it was taken back")
}
