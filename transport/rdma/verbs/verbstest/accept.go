package verbstest

import (
	"fmt"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// acceptStatements contains the statements of dat_cr_accept(3DAT).
var acceptStatements = []statement{
	{24, "the_endpoint_is_explicit_or_implied", func(r *rig) {
		r.talk(r.connected())
		m := r.reserved()
		r.talk(m)
	}},
	{25, "explicit_and_implied_exclude_each_other", func(r *rig) {
		ep := r.p.endpoint()
		reserved := r.p.listen(func(o *verbs.ListenOptions) { o.Endpoint = ep })
		active := r.a.endpoint()
		r.connect(active, reserved.Address(), nil)
		request := r.p.request()
		r.is("explicit beside implied", request.Accept(r.p.endpoint(), nil), verbs.ErrInvalidParameter)
		r.is("the same one given", request.Accept(ep, nil), verbs.ErrInvalidParameter)
		r.ok("implied", request.Accept(nil, nil))
		r.a.expect(active, verbs.EventEstablished, verbs.StateConnected)
		public := r.p.listen()
		active = r.a.endpoint()
		r.connect(active, public.Address(), nil)
		request = r.p.request()
		r.is("neither", request.Accept(nil, nil), verbs.ErrInvalidHandle)
		r.ok("explicit", request.Accept(r.p.endpoint(), nil))
		r.a.expect(active, verbs.EventEstablished, verbs.StateConnected)
	}},
	{26, "accept_data_may_be_nil_not_too_long", func(r *rig) {
		for _, n := range []int{0, 1, r.p.limits.MaxAcceptData} {
			l, ep, passive := r.p.listen(), r.a.endpoint(), r.p.endpoint()
			r.connect(ep, l.Address(), nil)
			request := r.p.request()
			r.is("too long", request.Accept(passive, data(make([]byte, r.p.limits.MaxAcceptData+1))), verbs.ErrInvalidParameter)
			r.is("negative depth", request.Accept(passive, param(-2, 0)), verbs.ErrInvalidParameter)
			private := pattern(5, n)
			if n == 0 {
				private = nil
			}
			r.ok("accept", request.Accept(passive, data(private)))
			r.sameData(r.a, r.a.expect(ep, verbs.EventEstablished, verbs.StateConnected).PrivateData, private)
		}
	}},
	{27, "accept_data_come_with_established", func(r *rig) {
		private := pattern(9, r.p.limits.MaxAcceptData)
		m := r.meet(r.a.endpoint(), r.p.endpoint(), nil, data(private))
		r.sameData(r.a, m.activeEvent.PrivateData, private)
		r.sameData(r.p, m.passiveEvent.PrivateData, nil)
	}},
	{28, "an_accept_that_fails_has_no_effect", testFailedAccept},
	{29, "accept_is_asynchronous", func(r *rig) {
		l, active, passive := r.p.listen(), r.a.endpoint(), r.p.endpoint()
		r.connect(active, l.Address(), nil)
		r.ok("accept", r.p.request().Accept(passive, nil))
		r.state(passive, verbs.StateCompletionPending)
		r.a.expect(active, verbs.EventEstablished, verbs.StateConnected)
		e := r.p.expect(passive, verbs.EventEstablished, verbs.StateConnected)
		r.that(e.Endpoint == passive, "the event names another endpoint")
	}},
	{30, "what_cannot_complete_is_accept_completion_error", func(r *rig) {
		l, active, passive := r.p.listen(), r.a.endpoint(), r.p.endpoint()
		r.connect(active, l.Address(), nil)
		request := r.p.request()
		r.ok("disconnect", active.Disconnect(verbs.CloseAbrupt))
		r.a.expect(active, verbs.EventDisconnected, verbs.StateDisconnected)
		r.ok("accept", request.Accept(passive, nil))
		r.p.expect(passive, verbs.EventAcceptCompletionError, verbs.StateDisconnected)
		passive = r.p.endpoint()
		r.ok("accept", r.timeOut(r.a.endpoint(), r.p.listen()).Accept(passive, nil))
		r.p.expect(passive, verbs.EventAcceptCompletionError, verbs.StateDisconnected)
	}},
	{31, "posted_receives_are_flushed_then", func(r *rig) {
		l, active, passive := r.p.listen(), r.a.endpoint(), r.p.endpoint()
		for id := range uint64(5) {
			r.p.receive(passive, id, 0, 8)
		}
		r.connect(active, l.Address(), nil)
		request := r.p.request()
		r.ok("disconnect", active.Disconnect(verbs.CloseAbrupt))
		r.ok("accept", request.Accept(passive, nil))
		r.p.expect(passive, verbs.EventAcceptCompletionError, verbs.StateDisconnected)
		for id := range uint64(5) {
			r.p.done(passive, verbs.StreamReceive, id, verbs.StatusFlushed)
		}
		r.quiet()
		r.equal("entries left", len(r.p.log), 0)
	}},
	{32, "accept_ends_the_request", func(r *rig) {
		l := r.p.listen()
		for _, reject := range []bool{false, true} {
			r.connect(r.a.endpoint(), l.Address(), nil)
			request := r.p.request()
			if reject {
				r.ok("reject", request.Reject(nil))
			} else {
				r.ok("accept", request.Accept(r.p.endpoint(), nil))
			}
			r.is("accept", request.Accept(r.p.endpoint(), nil), verbs.ErrInvalidHandle)
			r.is("reject", request.Reject(nil), verbs.ErrInvalidHandle)
			_, err := request.Query()
			r.is("query", err, verbs.ErrInvalidHandle)
		}
	}},
	{33, "bad_handles", func(r *rig) {
		var none *verbs.ConnectionRequest
		r.is("nil request", none.Accept(r.p.endpoint(), nil), verbs.ErrInvalidHandle)
		r.is("nil request", none.Reject(nil), verbs.ErrInvalidHandle)
		r.connect(r.a.endpoint(), r.p.listen().Address(), nil)
		request := r.p.request()
		freed := r.p.endpoint()
		r.ok("free", freed.Free())
		r.is("freed endpoint", request.Accept(freed, nil), verbs.ErrInvalidHandle)
		r.is("endpoint of another adapter", request.Accept(r.a.endpoint(), nil), verbs.ErrInvalidHandle)
	}},
	{34, "an_initiator_depth_beyond_the_peers_fails", func(r *rig) {
		l, ep := r.p.listen(), r.a.endpoint()
		r.connect(ep, l.Address(), param(1, 2))
		request := r.p.request()
		r.is("accept", request.Accept(r.p.endpoint(), param(2, 2)), verbs.ErrInvalidParameter)
		r.ok("accept", request.Accept(r.p.endpoint(), param(1, 1))) // fewer Reads than were requested
		e := r.a.event(ep)
		r.that(e.Type == verbs.EventNonPeerRejected || e.Type == verbs.EventEstablished && e.InitiatorDepth == 1, "event %v, depth %d", e.Type, e.InitiatorDepth)
	}},
	{35, "depths_that_fit_are_kept", func(r *rig) {
		for _, d := range [][2]int{{1, 1}, {1, 3}, {3, 1}, {4, 4}, {0, 2}, {2, 0}} {
			in, out := d[0], d[1]
			m := r.meet(r.a.endpoint(), r.p.endpoint(), param(in, out), param(out, in))
			got := fmt.Sprint(m.activeEvent.ResponderResources, m.activeEvent.InitiatorDepth, m.passiveEvent.ResponderResources, m.passiveEvent.InitiatorDepth)
			r.equal("depths", got, fmt.Sprint(in, out, out, in))
			r.read(m)
		}
	}},
	{36, "zero_and_unset_depths_and_one_winner", testPassiveDepthsAndWinner},
}

// reserved makes a connection through a reserved service point. It then checks that the service
// point refuses a second request.
func (r *rig) reserved() *meeting {
	r.Helper()
	m := &meeting{active: r.a.endpoint(), passive: r.p.endpoint()}
	l := r.p.listen(func(o *verbs.ListenOptions) { o.Endpoint = m.passive })
	r.state(m.passive, verbs.StateReserved)
	r.connect(m.active, l.Address(), nil)
	request := r.p.request()
	r.state(m.passive, verbs.StatePassiveConnectionPending)
	r.that(must[verbs.RequestInfo](r, "query")(request.Query()).Endpoint == m.passive, "the request carries another endpoint")
	r.ok("accept", request.Accept(nil, nil))
	m.activeEvent = r.a.expect(m.active, verbs.EventEstablished, verbs.StateConnected)
	m.passiveEvent = r.p.expect(m.passive, verbs.EventEstablished, verbs.StateConnected)
	// A reserved service point serves only one request.
	late := r.a.endpoint()
	r.connect(late, l.Address(), nil)
	r.a.expect(late, verbs.EventNonPeerRejected, verbs.StateDisconnected)
	r.ok("close", l.Close())
	return m
}

func testFailedAccept(r *rig) {
	l, ep := r.p.listen(), r.a.endpoint()
	r.connect(ep, l.Address(), data([]byte("keep")))
	request := r.p.request()
	busy, idle := r.p.endpoint(), r.p.endpoint()
	r.p.receive(idle, 1, 0, 8)
	r.connect(busy, r.a.listen().Address(), nil)
	before := must[verbs.RequestInfo](r, "query")(request.Query())
	for i, attempt := range []func() error{
		func() error { return request.Accept(busy, nil) },
		func() error { return request.Accept(r.a.endpoint(), nil) },
		func() error { return request.Accept(idle, param(r.p.limits.MaxReadsIn+1, 0)) },
		func() error { return request.Accept(idle, data(make([]byte, r.p.limits.MaxAcceptData+1))) },
		func() error { return request.Reject(make([]byte, r.p.limits.MaxRejectData+1)) },
	} {
		r.that(attempt() != nil, "attempt %d succeeded", i)
		r.quiet()
		r.state(busy, verbs.StateActiveConnectionPending)
		r.state(idle, verbs.StateUnconnected)
		r.state(ep, verbs.StateActiveConnectionPending)
		after := must[verbs.RequestInfo](r, "query")(request.Query())
		r.equal("private data", string(after.Param.PrivateData), string(before.Param.PrivateData))
	}
	r.ok("accept", request.Accept(idle, nil))
	r.a.expect(ep, verbs.EventEstablished, verbs.StateConnected)
	r.p.expect(idle, verbs.EventEstablished, verbs.StateConnected)
	// After a failed Accept, the request can also be rejected.
	ep = r.a.endpoint()
	r.connect(ep, l.Address(), nil)
	request = r.p.request()
	r.is("accept", request.Accept(busy, nil), verbs.ErrInvalidState)
	r.ok("reject", request.Reject(nil))
	r.a.expect(ep, verbs.EventPeerRejected, verbs.StateDisconnected)
}

func testPassiveDepthsAndWinner(r *rig) {
	r.talk(r.meet(r.a.endpoint(), r.p.endpoint(), nil, param(0, 0)))
	m := r.meet(r.a.endpoint(), r.p.endpoint(), param(3, 2), nil)
	r.equal("responder resources", m.passiveEvent.ResponderResources, 2)
	r.equal("initiator depth", m.passiveEvent.InitiatorDepth, 3)
	l, ep := r.p.listen(), r.a.endpoint()
	r.connect(ep, l.Address(), nil)
	request := r.p.request()
	endpoints := make([]*verbs.Endpoint, 8)
	for i := range endpoints {
		endpoints[i] = r.p.endpoint()
	}
	won := r.oneWinner(len(endpoints), verbs.ErrInvalidHandle, func(i int) error {
		if i%4 == 3 {
			return request.Reject(nil)
		}
		return request.Accept(endpoints[i], nil)
	})
	if won%4 == 3 {
		r.a.expect(ep, verbs.EventPeerRejected, verbs.StateDisconnected)
		return
	}
	r.a.expect(ep, verbs.EventEstablished, verbs.StateConnected)
	r.p.expect(endpoints[won], verbs.EventEstablished, verbs.StateConnected)
}
