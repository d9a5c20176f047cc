package verbs_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// TestReceiveQueuesAgainstOracle makes two endpoints consume receives until their connections end. The receives
// are in the endpoints' own queues or in a shared queue. Receives of an own queue are finished in order, and
// receives of the shared queue in any order. The test predicts the results with plain lists.
func TestReceiveQueuesAgainstOracle(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		runReceiveQueues(t, r, seed%2 == 0)
	}
}

// taker is an endpoint, together with the receives that it has taken and not finished. The oldest receive is
// the first.
type taker struct {
	p     *play
	ep    *verbs.Endpoint
	actor *actor
	// posted holds the IDs of the receives that are posted and not taken. used is the number of receives that
	// are posted and not finished.
	posted *[]uint64
	used   *int
	taken  []*oracleReceive
	shared bool
}

type oracleReceive struct {
	id uint64
	r  *provider.Receive
}

func runReceiveQueues(t *testing.T, r *rand.Rand, shared bool) {
	t.Helper()
	const depth = 7
	p := newPlay(t, nil)
	var srq *verbs.SharedReceiveQueue
	if shared {
		var err error
		srq, err = p.adapter.NewSharedReceiveQueue(verbs.SharedReceiveConfig{Domain: p.domain, MaxReceives: depth, MaxSegments: 1})
		require.NoError(t, err)
	}
	common, used := []uint64{}, 0
	takers := make([]*taker, 2)
	for i := range takers {
		k := &taker{p: p, posted: &common, used: &used, shared: shared}
		if !shared {
			k.posted, k.used = new([]uint64), new(int)
		}
		k.ep, k.actor = p.make(func(c *verbs.EndpointConfig) { c.SharedReceives, c.Attributes.MaxReceives = srq, depth })
		p.connect(k.ep, k.actor, 1)
		takers[i] = k
	}
	var id uint64
	for range 300 {
		k := takers[r.IntN(2)]
		run := p.within // the upcalls are made before the poll
		if r.IntN(2) == 0 {
			run = p.next // the upcalls are made within the poll
		}
		var want [][2]int
		switch r.IntN(4) {
		case 0:
			q := verbs.ReceiveRequest{ID: id, Segments: []verbs.Segment{p.region.Segment(int(id), 8)}}
			id++
			post := k.ep.PostReceive
			if shared {
				post = srq.PostReceive
			}
			err := post(&q)
			if *k.used == depth {
				require.ErrorIs(t, err, verbs.ErrInsufficientResources)
				break
			}
			require.NoError(t, err)
			*k.posted = append(*k.posted, q.ID)
			*k.used++
		case 1:
			run(func() { k.take(t) })
		case 2:
			run(func() { want = k.finish(r) })
		case 3:
			run(func() { want = k.deliver(t, r) })
		}
		got := lengths(p.poll())
		require.Equal(t, want, got)
	}
	for _, k := range takers {
		k.end(t, p)
	}
	if shared {
		require.Equal(t, len(common), srq.Len())
	}
}

// next returns the receive that a message takes, and removes it from the lists. If the queue is shared, next
// takes the receive from the stage.
func (k *taker) next(t *testing.T, own func() *provider.Receive) *oracleReceive {
	t.Helper()
	r := (*provider.Receive)(nil)
	if !k.shared {
		r = own()
	} else if list := &k.p.stage.shared.posted; len(*list) > 0 {
		r = (*list)[0]
		*list = (*list)[1:]
	}
	require.Equal(t, len(*k.posted) == 0, r == nil)
	if r == nil {
		return nil
	}
	require.Equal(t, 8, r.Length)
	if !k.shared {
		require.Same(t, r, k.actor.Receives.At(r.Number))
	}
	o := &oracleReceive{id: (*k.posted)[0], r: r}
	*k.posted = (*k.posted)[1:]
	return o
}

func (k *taker) take(t *testing.T) {
	t.Helper()
	if o := k.next(t, k.actor.Receives.Next); o != nil {
		k.taken = append(k.taken, o)
	}
}

// deliver takes and finishes a receive in one step. The provider may do so only if the endpoint has no earlier
// receive that is not finished.
func (k *taker) deliver(t *testing.T, r *rand.Rand) [][2]int {
	t.Helper()
	if !k.shared && len(k.taken) > 0 {
		return nil
	}
	o := k.next(t, k.actor.Receives.Peek)
	if o == nil {
		return nil
	}
	length := r.IntN(8)
	*k.used--
	k.actor.Receives.Deliver(o.r, length)
	return [][2]int{{int(o.id), length}}
}

// finish finishes the oldest receive. If the queue is shared, it finishes a random receive.
func (k *taker) finish(r *rand.Rand) [][2]int {
	if len(k.taken) == 0 {
		return nil
	}
	at, length := 0, r.IntN(8)
	if k.shared {
		at = r.IntN(len(k.taken))
	}
	o := k.taken[at]
	k.taken = slices.Delete(k.taken, at, at+1)
	*k.used--
	k.actor.Receives.Done(o.r, provider.Arrival{Length: length, Flags: verbs.FlagSolicited})
	return [][2]int{{int(o.id), length}}
}

// end breaks the connection. If the endpoint has receives of its own, all of them are flushed. If the queue is
// shared, only the receives that the provider reports are flushed.
func (k *taker) end(t *testing.T, p *play) {
	t.Helper()
	var want []outcome
	for _, q := range k.taken {
		want = append(want, outcome{q.id, verbs.StatusFlushed})
	}
	if !k.shared {
		for _, id := range *k.posted {
			want = append(want, outcome{id, verbs.StatusFlushed})
		}
	}
	p.within(func() {
		for _, q := range k.taken {
			if k.shared {
				k.actor.Receives.Fail(q.r, verbs.StatusFlushed)
			}
		}
		k.actor.Upcalls.Broken(nil)
	})
	all := p.poll()
	require.Equal(t, verbs.EventBroken, all[len(all)-1].Event.Type)
	require.Equal(t, want, outcomes(all[:len(all)-1]))
}

// lengths returns the IDs and lengths of completions.
func lengths(list []verbs.Completion) [][2]int {
	var all [][2]int
	for _, c := range list {
		all = append(all, [2]int{int(c.ID), c.Length})
	}
	return all
}
