package verbs_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// TestCompletionQueueAgainstOracle fills a small completion queue with posts that are flushed at once, and polls
// it in random portions, until the queue overflows. The test predicts each result with a plain list.
func TestCompletionQueueAgainstOracle(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 4))
		p := newPlay(t, nil)
		capacity := 1 + r.IntN(9)
		q, err := p.adapter.NewCompletionQueue(capacity)
		p.NoError(err)
		p.Equal(capacity, q.Capacity())
		ep, a := p.make(func(c *verbs.EndpointConfig) { c.Requests = q })
		p.connect(ep, a, 1)
		p.NoError(ep.Disconnect(verbs.CloseAbrupt))
		p.Equal([]verbs.EventType{verbs.EventDisconnected}, p.events())
		queued := []outcome{}
		for id := range uint64(5000) {
			if r.IntN(5) < 2 {
				into := make([]verbs.Completion, r.IntN(4))
				n := q.Poll(into)
				p.Equal(min(len(into), len(queued)), n)
				p.Equal(queued[:n], append([]outcome{}, outcomes(into[:n])...))
				queued = queued[n:]
				continue
			}
			p.NoError(ep.Post(&verbs.WorkRequest{ID: id, Op: verbs.OpSend}))
			if len(queued) == capacity {
				break
			}
			queued = append(queued, outcome{id, verbs.StatusFlushed})
			p.Equal(len(queued), q.Len())
			p.NoError(q.Err())
		}
		p.ErrorIs(q.Err(), verbs.ErrOverflow)
		status, err := ep.Status()
		p.NoError(err)
		p.Equal(verbs.StateError, status.State)
		into := make([]verbs.Completion, 16)
		p.Equal(queued, append([]outcome{}, outcomes(into[:q.Poll(into)])...))
	}
}

// TestEntriesOfAPollComeInOrder makes the provider add entries during a Poll. The largest number of entries is
// one more than the buffer of the Poll and the queue can hold together. The test checks the order of the
// entries.
func TestEntriesOfAPollComeInOrder(t *testing.T) {
	const capacity = 2
	for room := 1; room < 5; room++ {
		for made := range room + capacity + 2 {
			p := newPlay(t, nil)
			q, err := p.adapter.NewCompletionQueue(capacity)
			p.NoError(err)
			ep, a := p.make(func(c *verbs.EndpointConfig) { c.Receives = q })
			p.connect(ep, a, 1)
			for id := range made {
				p.NoError(ep.PostReceive(&verbs.ReceiveRequest{ID: uint64(id)}))
			}
			p.next(func() {
				for range made {
					a.Receives.Deliver(a.Receives.Peek(), 0)
				}
			})
			into := make([]verbs.Completion, room)
			n, steps := q.Advance(into)
			p.Equal(min(made, room), n)
			p.Equal(1, steps)
			p.Equal(min(made-n, capacity), q.Len())
			if made > room+capacity {
				p.ErrorIs(q.Err(), verbs.ErrOverflow)
			} else {
				p.NoError(q.Err())
			}
			more := make([]verbs.Completion, capacity+1)
			all := slices.Concat(into[:n], more[:q.Poll(more)])
			p.Len(all, min(made, room+capacity))
			for id, c := range all {
				p.Equal(uint64(id), c.ID)
				p.Same(ep, c.Endpoint)
				p.Equal(verbs.StreamReceive, c.Stream)
			}
		}
	}
}

// TestDataPathDoesNotAllocate checks that posting, completing and polling allocate no heap memory. The provider
// does nothing.
func TestDataPathDoesNotAllocate(t *testing.T) {
	p := newPlay(t, func(c *verbs.EndpointConfig) { c.Attributes.MaxInline = 8 })
	p.connect(p.endpoint, p.actor, 1)
	p.actor.posted = func() {
		for r := p.actor.Sends.Next(); r != nil; r = p.actor.Sends.Next() {
			p.actor.Sends.Done(r)
		}
	}
	p.stage.progress = func() (int, error) {
		r := p.actor.Receives.Next()
		if r == nil {
			return 0, nil
		}
		p.actor.Receives.Done(r, provider.Arrival{Length: 4})
		return 1, nil
	}
	segments := []verbs.Segment{p.region.Segment(0, 8), p.region.Segment(8, 8)}
	mine := []verbs.Segment{{Data: make([]byte, 8)}}
	w, inline := verbs.WorkRequest{Op: verbs.OpSend, Segments: segments}, verbs.WorkRequest{Op: verbs.OpWrite, Flags: verbs.FlagInline, Segments: mine}
	list := []verbs.WorkRequest{w, inline, {Op: verbs.OpRead, Segments: segments[:1]}}
	receive := verbs.ReceiveRequest{Segments: segments}
	into := make([]verbs.Completion, 8)
	failed := false
	n := testing.AllocsPerRun(200, func() {
		failed = failed || p.endpoint.Post(&w) != nil || p.endpoint.Post(&inline) != nil || p.endpoint.PostReceive(&receive) != nil
		posted, _ := p.endpoint.PostList(list)
		failed = failed || posted != 3 || p.queue.Poll(into) != 5 || p.queue.Poll(into) != 1
	})
	require.False(t, failed)
	require.Zero(t, n)
}
