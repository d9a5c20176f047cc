package verbs_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// sendOracle models a send queue as a plain list of requests, without a ring.
type sendOracle struct {
	list  []*oracleRequest
	depth int
	reads int // ORD
}

type oracleRequest struct {
	w           verbs.WorkRequest
	taken, done bool
	status      verbs.Status
}

// next returns the request that Next has to return.
func (o *sendOracle) next() *oracleRequest {
	reads := 0
	for _, r := range o.list {
		if r.taken {
			if r.w.Op == verbs.OpRead && !r.done {
				reads++
			}
			continue
		}
		if reads > 0 && (r.w.Flags&verbs.FlagFence != 0 || r.w.Op == verbs.OpRead && reads >= o.reads) {
			return nil
		}
		return r
	}
	return nil
}

// outcome holds those parts of a completion that the model predicts.
type outcome struct {
	id     uint64
	status verbs.Status
}

// retire removes the finished requests at the front and returns their completions.
func (o *sendOracle) retire() []outcome {
	var all []outcome
	for len(o.list) > 0 && o.list[0].done {
		r := o.list[0]
		o.list = o.list[1:]
		if r.status != verbs.StatusSuccess || r.w.Flags&verbs.FlagUnsignalled == 0 {
			all = append(all, outcome{r.w.ID, r.status})
		}
	}
	return all
}

// flush ends all requests and returns their completions.
func (o *sendOracle) flush() []outcome {
	var all []outcome
	for _, r := range o.list {
		s := verbs.StatusFlushed
		if r.done && r.status != verbs.StatusSuccess {
			s = r.status
		}
		all = append(all, outcome{r.w.ID, s})
	}
	o.list = nil
	return all
}

func TestSendQueueAgainstOracle(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		reads := 1 + r.IntN(3)
		p := newPlay(t, func(c *verbs.EndpointConfig) { c.Attributes.MaxRequests = 1 + r.IntN(9) })
		p.connect(p.endpoint, p.actor, reads)
		runSendQueue(t, r, p, reads)
	}
}

// runSendQueue makes random steps with a send queue and with its model, and compares them.
func runSendQueue(t *testing.T, r *rand.Rand, p *play, reads int) {
	t.Helper()
	info, err := p.endpoint.Query()
	require.NoError(t, err)
	o := &sendOracle{depth: info.Attributes.MaxRequests, reads: reads}
	taken := map[*oracleRequest]*provider.Request{}
	var id uint64
	for range 200 {
		var want []outcome
		switch r.IntN(3) {
		case 0:
			w := verbs.WorkRequest{ID: id, Op: []verbs.Opcode{verbs.OpSend, verbs.OpWrite, verbs.OpRead}[r.IntN(3)]}
			w.Flags = []verbs.RequestFlags{0, verbs.FlagUnsignalled, verbs.FlagFence, verbs.FlagFence | verbs.FlagUnsignalled}[r.IntN(4)]
			w.Segments = []verbs.Segment{p.region.Segment(r.IntN(100), r.IntN(100))}
			id++
			err := p.endpoint.Post(&w)
			if len(o.list) == o.depth {
				require.ErrorIs(t, err, verbs.ErrInsufficientResources)
				break
			}
			require.NoError(t, err)
			o.list = append(o.list, &oracleRequest{w: w})
		case 1:
			p.within(func() {
				got, want := p.actor.Sends.Next(), o.next()
				require.Equal(t, want == nil, got == nil)
				if got == nil {
					return
				}
				want.taken = true
				taken[want] = got
				require.Equal(t, want.w.Op, got.Op)
				require.Equal(t, len(want.w.Segments[0].Data), got.Length)
				require.Equal(t, want.w.Segments, got.Segments)
			})
		case 2:
			i := slices.IndexFunc(o.list, func(q *oracleRequest) bool { return q.taken && !q.done && r.IntN(2) == 0 })
			if i < 0 {
				break
			}
			p.within(func() { p.actor.Sends.Done(taken[o.list[i]]) })
			o.list[i].done = true
			want = o.retire()
		}
		require.Equal(t, want, outcomes(p.poll()))
		require.Equal(t, len(o.list), p.actor.Sends.Len())
	}
	endSendQueue(t, r, p, o, taken)
}

// endSendQueue ends the connection. In some runs a request fails first.
func endSendQueue(t *testing.T, r *rand.Rand, p *play, o *sendOracle, taken map[*oracleRequest]*provider.Request) {
	t.Helper()
	var want []outcome
	i := slices.IndexFunc(o.list, func(q *oracleRequest) bool { return q.taken && !q.done && r.IntN(2) == 0 })
	p.within(func() {
		if i >= 0 {
			p.actor.Sends.Fail(taken[o.list[i]], verbs.StatusRemoteAccess)
			o.list[i].done, o.list[i].status = true, verbs.StatusRemoteAccess
			want = o.retire()
		}
		p.actor.Upcalls.Broken(nil)
		require.Nil(t, p.actor.Sends.Next())
	})
	want = append(want, o.flush()...)
	all := p.poll()
	require.Equal(t, verbs.EventBroken, all[len(all)-1].Event.Type, "the event comes last")
	require.Equal(t, want, outcomes(all[:len(all)-1]))
}

// outcomes returns those parts of the completions that the model predicts.
func outcomes(list []verbs.Completion) []outcome {
	var all []outcome
	for _, c := range list {
		all = append(all, outcome{c.ID, c.Status})
	}
	return all
}

func TestSingleIsTheOnlyRequest(t *testing.T) {
	p := newPlay(t, nil)
	p.connect(p.endpoint, p.actor, 1)
	p.Nil(p.actor.Sends.Single())
	for id := range uint64(40) { // the queue wraps around several times
		p.NoError(p.endpoint.Post(&verbs.WorkRequest{ID: id, Op: verbs.OpSend}))
		p.within(func() {
			r := p.actor.Sends.Single()
			p.NotNil(r)
			p.actor.Sends.TakeSingle()
			p.Nil(p.actor.Sends.Single())
			p.Nil(p.actor.Sends.Next())
			p.actor.Sends.Done(r)
		})
		p.Equal([]outcome{{id, verbs.StatusSuccess}}, outcomes(p.poll()))
	}
	for range 2 {
		p.NoError(p.endpoint.Post(&verbs.WorkRequest{Op: verbs.OpSend}))
	}
	p.Nil(p.actor.Sends.Single())
	p.within(func() { p.NotNil(p.actor.Sends.Next()) })
	p.NotNil(p.actor.Sends.Single())
}

func TestFinishingTwicePanics(t *testing.T) {
	p := newPlay(t, nil)
	p.connect(p.endpoint, p.actor, 1)
	p.NoError(p.endpoint.Post(&verbs.WorkRequest{Op: verbs.OpRead}))
	p.NoError(p.endpoint.Post(&verbs.WorkRequest{Op: verbs.OpSend}))
	p.NoError(p.endpoint.PostReceive(&verbs.ReceiveRequest{}))
	p.NoError(p.endpoint.PostReceive(&verbs.ReceiveRequest{}))
	p.within(func() {
		p.actor.Sends.Next()
		second := p.actor.Sends.Next()
		p.actor.Sends.Done(second)
		p.Panics(func() { p.actor.Sends.Done(second) })
		first, late := p.actor.Receives.Next(), p.actor.Receives.Next()
		p.Panics(func() { p.actor.Receives.Done(late, provider.Arrival{}) }, "out of turn")
		p.actor.Receives.Done(first, provider.Arrival{})
		p.Panics(func() { p.actor.Receives.Fail(first, verbs.StatusTransport) })
	})
}

func TestReadsHaveALimitOfTheirOwnForSegments(t *testing.T) {
	p := newPlay(t, nil) // one segment for a Read, two for other requests
	p.connect(p.endpoint, p.actor, 1)
	two := []verbs.Segment{p.region.Segment(0, 8), p.region.Segment(8, 8)}
	p.NoError(p.endpoint.Post(&verbs.WorkRequest{Op: verbs.OpWrite, Segments: two}))
	p.NoError(p.endpoint.Post(&verbs.WorkRequest{Op: verbs.OpRead, Segments: two[:1]}))
	p.ErrorIs(p.endpoint.Post(&verbs.WorkRequest{Op: verbs.OpRead, Segments: two}), verbs.ErrInvalidParameter)
}

func TestInlineBytesAreGathered(t *testing.T) {
	p := newPlay(t, func(c *verbs.EndpointConfig) { c.Attributes.MaxInline = 8 })
	p.connect(p.endpoint, p.actor, 1)
	for range 40 { // the queue wraps around several times
		mine := []byte("abcdefgh")
		p.NoError(p.endpoint.Post(&verbs.WorkRequest{
			Op: verbs.OpSend, Flags: verbs.FlagInline, Segments: []verbs.Segment{{Data: mine[:3]}, {}, {Data: mine[3:5]}, {Data: mine[5:]}},
		}))
		clear(mine)
		p.within(func() {
			r := p.actor.Sends.Next()
			p.Len(r.Segments, 1)
			p.Equal("abcdefgh", string(r.Segments[0].Data))
			p.Equal(8, r.Length)
			p.actor.Sends.Done(r)
		})
	}
}

// TestRequestsDoneByNumber completes all requests whose Number is less than a given value, as a single
// completion of an adapter does. Some of these requests are already complete.
func TestRequestsDoneByNumber(t *testing.T) {
	p := newPlay(t, nil)
	p.connect(p.endpoint, p.actor, 1)
	for id := range uint64(6) {
		p.NoError(p.endpoint.Post(&verbs.WorkRequest{ID: id, Op: verbs.OpSend, Flags: verbs.RequestFlags(id%2) * verbs.FlagUnsignalled}))
	}
	p.within(func() {
		for id := range uint64(5) {
			r := p.actor.Sends.Next()
			p.Equal(id, r.Number)
			p.Same(r, p.actor.Sends.At(id))
		}
		p.actor.Sends.Done(p.actor.Sends.At(2))
		p.actor.Sends.DoneBefore(0)
	})
	p.Empty(p.poll())
	p.within(func() { p.actor.Sends.DoneBefore(1) })
	p.Equal([]outcome{{0, verbs.StatusSuccess}}, outcomes(p.poll()))
	p.within(func() { p.actor.Sends.DoneBefore(4) })
	p.Equal([]outcome{{2, verbs.StatusSuccess}}, outcomes(p.poll()), "the others are unsignalled")
	p.within(func() { p.actor.Sends.DoneBefore(100) })
	p.Equal([]outcome{{4, verbs.StatusSuccess}}, outcomes(p.poll()), "the last one is not taken")
	p.Equal(1, p.actor.Sends.Len())
	p.within(func() {
		r := p.actor.Sends.Next()
		p.Equal(uint64(5), r.Number)
		p.actor.Sends.DoneBefore(r.Number + 1)
	})
	p.NoError(p.endpoint.Post(&verbs.WorkRequest{ID: 7, Op: verbs.OpSend}))
	p.within(func() { p.Zero(p.actor.Sends.Next().Number, "it begins again when all are done") })
	p.NoError(p.endpoint.Post(&verbs.WorkRequest{ID: 8, Op: verbs.OpSend}))
	p.within(func() {
		p.actor.Sends.Next()
		p.actor.Sends.DoneBefore(1)
		p.actor.Sends.Fail(p.actor.Sends.At(1), verbs.StatusRemoteAccess)
		p.actor.Upcalls.Broken(nil)
	})
	p.Equal([]outcome{{7, verbs.StatusSuccess}, {8, verbs.StatusRemoteAccess}}, outcomes(p.poll()[:2]))
}

// TestReadsOfAnAdapterThatHoldsThem checks that an adapter with HoldsReads gets all requests at once. Such an
// adapter itself limits outstanding Reads and applies fences.
func TestReadsOfAnAdapterThatHoldsThem(t *testing.T) {
	for _, holds := range []bool{false, true} {
		p := newPlay(t, nil)
		p.stage.attributes.HoldsReads, p.stage.attributes.Atomics = holds, true
		var err error
		p.adapter, err = verbs.Open(p.stage, "only") // Open reads the attributes again
		p.NoError(err)
		defer p.adapter.Close()
		p.domain, err = p.adapter.NewProtectionDomain()
		p.NoError(err)
		p.region, err = p.domain.Register(make([]byte, 64), verbs.AccessLocalWrite)
		p.NoError(err)
		p.queue, err = p.adapter.NewCompletionQueue(64)
		p.NoError(err)
		ep, a := p.make(nil)
		p.connect(ep, a, 1)
		word := []verbs.Segment{p.region.Segment(0, 8)}
		for _, w := range []verbs.WorkRequest{
			{Op: verbs.OpRead, Segments: word},
			{Op: verbs.OpFetchAdd, Segments: word, Swap: 5},
			{Op: verbs.OpCompareSwap, Segments: word, Compare: 6, Swap: 7},
			{Op: verbs.OpSend, Flags: verbs.FlagFence},
		} {
			p.NoError(ep.Post(&w))
		}
		p.within(func() {
			for i := range 4 {
				r := a.Sends.Next()
				if !holds && i > 0 {
					p.Nil(r, "one is under way")
					a.Sends.DoneBefore(uint64(i))
					r = a.Sends.Next()
				}
				p.NotNil(r)
				if r.Op.Atomic() {
					p.Equal([][2]uint64{1: {0, 5}, 2: {6, 7}}[i], [2]uint64{r.Compare, r.Swap})
				}
			}
			a.Sends.DoneBefore(4)
		})
		p.Len(p.poll(), 4)
	}
}

// TestGracefulEndAsksForTheLastCompletions checks that a graceful Disconnect asks the queue pair for the
// completions of unsignalled requests, and that it disconnects the queue pair when all of them are complete.
func TestGracefulEndAsksForTheLastCompletions(t *testing.T) {
	p := newPlay(t, nil)
	p.connect(p.endpoint, p.actor, 1)
	p.NoError(p.endpoint.Post(&verbs.WorkRequest{Op: verbs.OpSend, Flags: verbs.FlagUnsignalled}))
	p.within(func() { p.actor.Sends.Next() })
	p.NoError(p.endpoint.Disconnect(verbs.CloseGraceful))
	p.Equal([2]int{1, 0}, [2]int{p.actor.drained, p.actor.disconnected})
	p.within(func() { p.actor.Sends.DoneBefore(1) })
	p.Equal([2]int{1, 1}, [2]int{p.actor.drained, p.actor.disconnected})
}
