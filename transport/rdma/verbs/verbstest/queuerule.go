package verbstest

import (
	"context"
	"testing"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// queueRules contains the rules on shared receive queues, on the allocations of the data path, and
// on freeing domains, regions and queues.
var queueRules = []statement{
	{0, "shared_receives_serve_all_endpoints", testSharedReceives},
	{0, "the_limit_of_a_shared_queue_tells_once", testSharedLimit},
	{0, "posting_and_polling_do_not_allocate", testAllocations},
	{0, "domains_regions_and_queues_are_freed_last", func(r *rig) {
		d := must[*verbs.ProtectionDomain](r, "domain")(r.a.adapter.NewProtectionDomain())
		m := must[*verbs.MemoryRegion](r, "register")(d.Register(make([]byte, 8), 0))
		r.is("domain in use", d.Free(), verbs.ErrInvalidState)
		r.ok("close", m.Close())
		r.is("close twice", m.Close(), verbs.ErrInvalidHandle)
		q := r.a.queue(4)
		ep := r.a.endpoint(func(c *verbs.EndpointConfig) { c.Domain, c.Receives = d, q })
		r.is("domain in use", d.Free(), verbs.ErrInvalidState)
		r.is("queue in use", q.Free(), verbs.ErrInvalidState)
		r.ok("free", ep.Free())
		r.ok("free", d.Free())
		r.ok("free", q.Free())
		r.is("free twice", d.Free(), verbs.ErrInvalidHandle)
		r.is("free twice", q.Free(), verbs.ErrInvalidHandle)
		_, err := d.Register(make([]byte, 8), 0)
		r.is("freed domain", err, verbs.ErrInvalidHandle)
		for what, bad := range map[string]struct {
			bytes  int
			access verbs.Access
		}{"empty": {0, 0}, "remote write alone": {8, verbs.AccessRemoteWrite}, "unknown": {8, 1 << 7}} {
			_, err := r.a.domain.Register(make([]byte, bad.bytes), bad.access)
			r.is(what, err, verbs.ErrInvalidParameter)
		}
		_, err = r.a.adapter.NewCompletionQueue(0)
		r.is("no capacity", err, verbs.ErrInvalidParameter)
	}},
}

// shared makes a shared receive queue of side p. Its limit events go to the completion queue in the
// argument limits. If the adapter has no shared receive queues, shared checks the error and skips
// the test.
func (r *rig) shared(limits *verbs.CompletionQueue) *verbs.SharedReceiveQueue {
	r.Helper()
	c := verbs.SharedReceiveConfig{Domain: r.p.domain, Limits: limits, MaxReceives: 8, MaxSegments: 1}
	q, err := r.p.adapter.NewSharedReceiveQueue(c)
	if r.p.limits.MaxSharedReceives == 0 {
		r.is("shared receive queue", err, verbs.ErrModelNotSupported)
		r.SkipNow()
	}
	r.ok("shared receive queue", err)
	return q
}

func testSharedReceives(r *rig) {
	shared := r.shared(nil)
	use := func(c *verbs.EndpointConfig) { c.SharedReceives = shared }
	elsewhere := r.p.config()
	elsewhere.SharedReceives = shared
	elsewhere.Domain = must[*verbs.ProtectionDomain](r, "domain")(r.p.adapter.NewProtectionDomain())
	_, err := r.p.adapter.NewEndpoint(elsewhere)
	r.is("endpoint of another domain", err, verbs.ErrInvalidParameter)
	first := r.meet(r.a.endpoint(), r.p.endpoint(use), nil, nil)
	second := r.meet(r.a.endpoint(), r.p.endpoint(use), nil, nil)
	r.is("its own receive", first.passive.PostReceive(&verbs.ReceiveRequest{}), verbs.ErrInvalidState)
	r.is("free in use", shared.Free(), verbs.ErrInvalidState)
	for id := range uint64(8) {
		r.ok("post", shared.PostReceive(&verbs.ReceiveRequest{ID: id, Segments: []verbs.Segment{r.p.region.Segment(int(id)*64, 64)}}))
	}
	r.is("one more", shared.PostReceive(&verbs.ReceiveRequest{}), verbs.ErrInsufficientResources)
	seen := map[uint64]bool{}
	for i, m := range []*meeting{first, second, second, first, second} {
		copy(r.a.memory, pattern(byte(i), 64))
		r.a.send(m.active, 50, 0, 64)
		c := r.p.completion(m.passive, verbs.StreamReceive)
		r.equal("one that nobody had", seen[c.ID], false)
		r.equal("bytes", string(r.p.memory[c.ID*64:c.ID*64+64]), string(pattern(byte(i), 64)))
		r.a.done(m.active, verbs.StreamRequest, 50, verbs.StatusSuccess)
		seen[c.ID] = true
	}
	// After the end of one connection, the other connection can use the receives.
	r.ok("disconnect", first.active.Disconnect(verbs.CloseGraceful))
	r.p.expect(first.passive, verbs.EventDisconnected, verbs.StateDisconnected)
	r.equal("left", shared.Len(), 3)
	r.a.send(second.active, 51, 0, 8)
	r.equal("one that is left", seen[r.p.completion(second.passive, verbs.StreamReceive).ID], false)
	r.ok("free", first.passive.Free())
	r.ok("free", second.passive.Free())
	r.ok("free", shared.Free())
	r.is("freed", shared.PostReceive(&verbs.ReceiveRequest{}), verbs.ErrInvalidHandle)
}

func testSharedLimit(r *rig) {
	shared := r.shared(r.p.connections)
	m := r.meet(r.a.endpoint(), r.p.endpoint(func(c *verbs.EndpointConfig) { c.SharedReceives = shared }), nil, nil)
	post := func(n int) {
		for range n {
			r.ok("post", shared.PostReceive(&verbs.ReceiveRequest{Segments: []verbs.Segment{r.p.region.Segment(0, 8)}}))
		}
	}
	limits := func() int {
		n := 0
		for i := range r.p.log {
			if e := r.p.log[i].Event; e != nil && e.Type == verbs.EventLimitReached && e.SharedReceiveQueue == shared {
				n++
			}
		}
		return n
	}
	take := func(n int) {
		for range n {
			r.a.send(m.active, 1, 0, 8)
			r.p.completion(m.passive, verbs.StreamReceive)
			r.a.completion(m.active, verbs.StreamRequest)
		}
		r.quiet()
	}
	post(6)
	r.ok("limit", shared.SetLimit(4))
	take(2)
	r.equal("events with 4 left", limits(), 0)
	take(2)
	r.equal("events below", limits(), 1)
	r.ok("limit", shared.SetLimit(3))
	r.quiet()
	r.equal("at once when below already", limits(), 2)
	post(4)
	r.ok("limit", shared.SetLimit(5))
	r.ok("taken back", shared.SetLimit(0))
	take(3)
	r.equal("events without a limit", limits(), 2)
	r.is("limit", shared.SetLimit(9), verbs.ErrInvalidParameter)
}

// testAllocations checks that posting and polling allocate no memory in package verbs. The endpoint
// is disconnected, so that no provider is involved.
func testAllocations(r *rig) {
	m := r.connected()
	r.ok("disconnect", m.active.Disconnect(verbs.CloseAbrupt))
	r.a.expect(m.active, verbs.EventDisconnected, verbs.StateDisconnected)
	w := verbs.WorkRequest{Op: verbs.OpSend, Segments: []verbs.Segment{r.a.region.Segment(0, 8)}}
	receive := verbs.ReceiveRequest{Segments: []verbs.Segment{r.a.region.Segment(0, 8)}}
	into := make([]verbs.Completion, 4)
	n := testing.AllocsPerRun(100, func() {
		if m.active.Post(&w) != nil || m.active.PostReceive(&receive) != nil {
			r.Fail()
		}
		if r.a.requests.Poll(into) != 1 || r.a.receives.Poll(into) != 1 {
			r.Fail()
		}
	})
	r.equal("allocations", n, 0.0)
	r.ok("wait for what is there", func() error {
		r.a.send(m.active, 1, 0, 8)
		return r.a.requests.Wait(context.Background(), 1)
	}())
}
