package verbs_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// TestReceiveQueuesAgainstOracle lets two endpoints take receives from their own
// queues or from a shared one, finish them in any order, and end.
func TestReceiveQueuesAgainstOracle(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		runReceiveQueues(t, r, seed%2 == 0)
	}
}

// taker is an endpoint and the receives it has taken, oldest first.
type taker struct {
	ep     *verbs.Endpoint
	actor  *actor
	posted *[]uint64
	taken  []*oracleReceive
	shared bool
}

type oracleReceive struct {
	id     uint64
	r      *verbs.Receive
	done   bool
	length int
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
	var common []uint64
	takers := make([]*taker, 2)
	for i := range takers {
		k := &taker{posted: &common, shared: shared}
		if !shared {
			k.posted = new([]uint64)
		}
		k.ep, k.actor = p.make(func(c *verbs.EndpointConfig) { c.SharedReceives, c.Attributes.MaxReceives = srq, depth })
		p.connect(k.ep, k.actor, 1)
		takers[i] = k
	}
	var id uint64
	for range 300 {
		k := takers[r.IntN(2)]
		run := p.within // or within the poll
		if r.IntN(2) == 0 {
			run = p.next
		}
		switch r.IntN(4) {
		case 0:
			q := verbs.ReceiveRequest{ID: id, Segments: []verbs.Segment{p.region.Segment(int(id), 8)}}
			id++
			used := len(*k.posted) + len(k.taken)
			err := error(nil)
			if shared {
				used += len(takers[0].taken) + len(takers[1].taken) - len(k.taken)
				err = srq.PostReceive(&q)
			} else {
				err = k.ep.PostReceive(&q)
			}
			if used == depth {
				require.ErrorIs(t, err, verbs.ErrInsufficientResources)
				break
			}
			require.NoError(t, err)
			*k.posted = append(*k.posted, q.ID)
		case 1:
			run(func() { k.take(t) })
		case 2:
			run(func() { k.finish(r) })
		case 3:
			run(func() { k.deliver(t, r) })
		}
		got := lengths(p.poll())
		require.Equal(t, k.retire(), got)
		require.Equal(t, len(*k.posted), k.actor.Receives.Len())
	}
	for _, k := range takers {
		k.end(t, p, shared)
	}
}

func (k *taker) take(t *testing.T) {
	t.Helper()
	r := k.actor.Receives.Next()
	require.Equal(t, len(*k.posted) == 0, r == nil)
	if r == nil {
		return
	}
	require.Equal(t, 8, r.Length)
	require.Zero(t, r.Mark)
	r.Mark = 1
	at := 0 // the oldest, of a shared queue the youngest
	if k.shared {
		at = len(*k.posted) - 1
	}
	k.taken = append(k.taken, &oracleReceive{id: (*k.posted)[at], r: r})
	*k.posted = slices.Delete(*k.posted, at, at+1)
}

// deliver takes and finishes at once.
func (k *taker) deliver(t *testing.T, r *rand.Rand) {
	t.Helper()
	m := k.actor.Receives.Peek()
	require.Equal(t, len(*k.posted) == 0, m == nil)
	if m == nil {
		return
	}
	at := 0
	if k.shared {
		at = len(*k.posted) - 1
	}
	length := r.IntN(8)
	k.taken = append(k.taken, &oracleReceive{id: (*k.posted)[at], done: true, length: length})
	*k.posted = slices.Delete(*k.posted, at, at+1)
	k.actor.Receives.Deliver(m, length)
}

func (k *taker) finish(r *rand.Rand) {
	for _, q := range k.taken {
		if !q.done && r.IntN(2) == 0 {
			q.done, q.length = true, r.IntN(8)
			k.actor.Receives.Done(q.r, q.length, verbs.FlagSolicited, 0)
			return
		}
	}
}

// retire removes what is done at the front and returns ids and lengths.
func (k *taker) retire() [][2]int {
	var all [][2]int
	for len(k.taken) > 0 && k.taken[0].done {
		all = append(all, [2]int{int(k.taken[0].id), k.taken[0].length})
		k.taken = k.taken[1:]
	}
	return all
}

// end breaks the connection: what was taken is flushed, and of its own receives what
// is posted too.
func (k *taker) end(t *testing.T, p *play, shared bool) {
	t.Helper()
	var want []outcome
	for _, q := range k.taken {
		want = append(want, outcome{q.id, verbs.StatusFlushed})
	}
	k.taken = nil
	if !shared {
		for _, id := range *k.posted {
			want = append(want, outcome{id, verbs.StatusFlushed})
		}
		*k.posted = nil
	}
	p.within(func() { k.actor.Upcalls.Broken(nil) })
	all := p.poll()
	require.Equal(t, verbs.EventBroken, all[len(all)-1].Event.Type)
	require.Equal(t, want, outcomes(all[:len(all)-1]))
	require.Equal(t, len(*k.posted), k.actor.Receives.Len())
}

// lengths returns ids and lengths of completions.
func lengths(list []verbs.Completion) [][2]int {
	var all [][2]int
	for _, c := range list {
		all = append(all, [2]int{int(c.ID), c.Length})
	}
	return all
}
