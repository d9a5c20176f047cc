package verbs_test

import (
	"testing"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// TestLimitIsSaidOnce checks that a shared receive queue reports only once that it has fallen below its
// limit. After another SetLimit it must report once more.
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
	p.Len(p.stage.shared.posted, 8)
	into := make([]verbs.Completion, 16)
	use := func(n int) {
		p.within(func() {
			for _, r := range p.stage.shared.posted[:n] {
				a.Receives.Deliver(r, 0)
			}
			p.stage.shared.posted = p.stage.shared.posted[n:]
		})
	}
	use(2)
	p.Zero(q.Poll(into), "6 are left")
	use(1)
	p.Equal(1, q.Poll(into))
	p.Equal(verbs.EventLimitReached, into[0].Event.Type)
	p.Same(shared, into[0].Event.SharedReceiveQueue)
	use(1)
	p.Zero(q.Poll(into), "the event was reported already")
	p.NoError(shared.SetLimit(5))
	p.Equal(1, q.Poll(into), "at once")
	p.NoError(shared.SetLimit(4))
	p.NoError(shared.SetLimit(0))
	use(4)
	p.Zero(q.Poll(into), "the limit was removed")
	p.Zero(shared.Len())
	p.ErrorIs(shared.Free(), verbs.ErrInvalidState)
	p.NoError(ep.Free())
	p.NoError(shared.Free())
	p.Equal(1, p.stage.shared.closed)
	p.NoError(q.Free())
}
