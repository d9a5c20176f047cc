package verbstest

import (
	"net/netip"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// lifeRules contains the rules on the states of an endpoint.
var lifeRules = []statement{
	{0, "a_graceful_disconnect_lets_requests_complete", testGraceful},
	{0, "an_abrupt_disconnect_flushes_in_order", testAbrupt},
	{0, "a_broken_connection_flushes_on_both_sides", func(r *rig) {
		scene, ok := r.harness.Inject(r, FaultCut)
		if !ok {
			r.Skip("this provider's connections cannot be cut")
		}
		m := r.connected()
		r.talk(m)
		for id := range uint64(4) {
			r.a.receive(m.active, id, 0, 8)
			r.p.receive(m.passive, id, 0, 8)
		}
		scene.Cut(m.active)
		for id := range uint64(4) {
			r.a.done(m.active, verbs.StreamReceive, id, verbs.StatusFlushed)
			r.p.done(m.passive, verbs.StreamReceive, id, verbs.StatusFlushed)
		}
		r.that(r.a.expect(m.active, verbs.EventBroken, verbs.StateDisconnected).Err != nil, "no cause")
		r.p.expect(m.passive, verbs.EventBroken, verbs.StateDisconnected)
		r.quiet()
		r.that(len(r.a.log)+len(r.p.log) == 0, "entries left")
	}},
	{0, "a_disconnected_endpoint_flushes_at_once", func(r *rig) {
		m := r.connected()
		r.ok("disconnect", m.active.Disconnect(verbs.CloseAbrupt))
		r.a.expect(m.active, verbs.EventDisconnected, verbs.StateDisconnected)
		r.a.receive(m.active, 1, 0, 8)
		r.a.send(m.active, 2, 0, 8)
		r.a.done(m.active, verbs.StreamReceive, 1, verbs.StatusFlushed)
		r.a.done(m.active, verbs.StreamRequest, 2, verbs.StatusFlushed)
	}},
	{0, "reset_makes_it_new", func(r *rig) {
		active, passive := r.a.endpoint(), r.p.endpoint()
		r.ok("reset when unconnected", active.Reset())
		r.a.receive(active, 1, 0, 8)
		r.ok("keeps receives", active.Reset())
		for range 3 {
			m := r.meet(active, passive, param(1, 1), nil)
			r.is("reset when connected", active.Reset(), verbs.ErrInvalidState)
			r.p.receive(passive, 5, 0, 8)
			r.a.send(active, 6, 0, 8)
			r.p.done(passive, verbs.StreamReceive, 5, verbs.StatusSuccess)
			r.a.done(active, verbs.StreamRequest, 6, verbs.StatusSuccess)
			r.ok("disconnect", m.active.Disconnect(verbs.CloseGraceful))
			r.a.expect(active, verbs.EventDisconnected, verbs.StateDisconnected)
			r.p.expect(passive, verbs.EventDisconnected, verbs.StateDisconnected)
			r.a.done(active, verbs.StreamReceive, 1, verbs.StatusFlushed)
			r.ok("reset", active.Reset())
			r.ok("reset", passive.Reset())
			info := must[verbs.EndpointInfo](r, "query")(active.Query())
			r.equal("remote end", info.Remote, netip.AddrPort{})
			r.equal("attributes", info.Attributes, r.a.attributes())
			r.state(active, verbs.StateUnconnected)
			r.a.receive(active, 1, 0, 8)
		}
	}},
	{0, "disconnect_and_modify_and_free_by_state", testByState},
	{0, "modify_changes_what_it_names", testModify},
	{0, "free_ends_everything", func(r *rig) {
		m := r.connected()
		r.ok("free", m.active.Free())
		e := r.p.event(m.passive)
		r.that(e.Type == verbs.EventBroken || e.Type == verbs.EventDisconnected, "event %v", e.Type)
		r.ok("free twice", m.active.Free())
		for what, err := range map[string]error{
			"post": m.active.Post(&verbs.WorkRequest{Op: verbs.OpSend}), "receive": m.active.PostReceive(&verbs.ReceiveRequest{}),
			"disconnect": m.active.Disconnect(verbs.CloseAbrupt), "reset": m.active.Reset(),
			"modify": m.active.Modify(verbs.ParamAttributes, r.a.config()), "dup": r.a.endpoint().DupConnect(m.active, options(nil)),
		} {
			r.is(what, err, verbs.ErrInvalidHandle)
		}
		_, err := m.active.Query()
		r.is("query", err, verbs.ErrInvalidHandle)
		pending := r.a.endpoint()
		r.connect(pending, r.p.listen().Address(), nil)
		r.ok("free while pending", pending.Free())
	}},
	{0, "dup_connect_needs_a_connected_original", func(r *rig) {
		m := r.connected()
		r.is("nil", r.a.endpoint().DupConnect(nil, options(nil)), verbs.ErrInvalidHandle)
		r.is("unconnected", r.a.endpoint().DupConnect(r.a.endpoint(), options(nil)), verbs.ErrInvalidState)
		r.is("passive side", r.p.endpoint().DupConnect(m.passive, options(nil)), verbs.ErrInvalidState)
		r.is("timeout", r.a.endpoint().DupConnect(m.active, verbs.ConnectOptions{}), verbs.ErrInvalidParameter)
		ep := r.a.endpoint()
		r.ok("dup connect", ep.DupConnect(m.active, options(nil))) // the listener is closed
		r.a.expect(ep, verbs.EventNonPeerRejected, verbs.StateDisconnected)
	}},
	{0, "a_listener_ends_and_gives_its_endpoint_back", func(r *rig) {
		ep := r.p.endpoint()
		l := r.p.listen(func(o *verbs.ListenOptions) { o.Endpoint = ep })
		_, err := r.p.adapter.Listen(verbs.ListenOptions{Queue: r.p.connections, Endpoint: ep})
		r.is("reserved twice", err, verbs.ErrInvalidState)
		r.ok("close", l.Close())
		r.is("close twice", l.Close(), verbs.ErrInvalidHandle)
		r.state(ep, verbs.StateUnconnected)
		l = r.p.listen(func(o *verbs.ListenOptions) { o.Endpoint = ep })
		r.connect(r.a.endpoint(), l.Address(), nil)
		request := r.p.request()
		r.ok("close", l.Close())
		r.state(ep, verbs.StatePassiveConnectionPending)
		r.ok("reject", request.Reject(nil))
		r.state(ep, verbs.StateUnconnected)
		_, err = r.p.adapter.Listen(verbs.ListenOptions{Queue: r.p.connections, AdapterEndpoints: true})
		r.is("endpoints of the adapter", err, verbs.ErrModelNotSupported)
		_, err = r.p.adapter.Listen(verbs.ListenOptions{})
		r.is("no queue", err, verbs.ErrInvalidHandle)
	}},
	{0, "closing_an_adapter_ends_what_is_on_it", func(r *rig) {
		m := r.connected()
		l := r.p.listen()
		pending := r.a.endpoint()
		r.connect(pending, l.Address(), nil)
		request := r.p.request()
		r.ok("close", r.p.adapter.Close())
		e := r.a.event(m.active)
		r.that(e.Type == verbs.EventBroken || e.Type == verbs.EventDisconnected, "event %v", e.Type)
		r.a.expect(pending, verbs.EventNonPeerRejected, verbs.StateDisconnected)
		r.is("accept", request.Accept(nil, nil), verbs.ErrInvalidHandle)
		r.is("post", m.passive.Post(&verbs.WorkRequest{Op: verbs.OpSend}), verbs.ErrInvalidHandle)
		r.is("queue", r.p.connections.Err(), verbs.ErrClosed)
		_, err := r.p.adapter.NewProtectionDomain()
		r.is("domain", err, verbs.ErrInvalidHandle)
	}},
}

func testGraceful(r *rig) {
	m := r.connected()
	const n = 8
	for id := range uint64(n) {
		r.p.receive(m.passive, id, int(id)*64, 64)
	}
	remote := r.p.region.Remote(4096, 64)
	for id := range uint64(n - 1) {
		r.a.send(m.active, id, 0, 64)
	}
	r.ok("read", m.active.Post(&verbs.WorkRequest{
		ID: n - 1, Op: verbs.OpRead, Segments: []verbs.Segment{r.a.region.Segment(0, 64)}, RemoteAddress: remote.Address, RKey: remote.RKey,
	}))
	r.ok("disconnect", m.active.Disconnect(verbs.CloseGraceful))
	r.state(m.active, verbs.StateDisconnectPending)
	r.is("post", m.active.Post(&verbs.WorkRequest{Op: verbs.OpSend}), verbs.ErrInvalidState)
	r.ok("again, no effect", m.active.Disconnect(verbs.CloseGraceful))
	for id := range uint64(n) {
		r.a.done(m.active, verbs.StreamRequest, id, verbs.StatusSuccess)
	}
	for id := range uint64(n - 1) {
		r.p.done(m.passive, verbs.StreamReceive, id, verbs.StatusSuccess)
	}
	r.a.expect(m.active, verbs.EventDisconnected, verbs.StateDisconnected)
	r.p.expect(m.passive, verbs.EventDisconnected, verbs.StateDisconnected)
	r.p.done(m.passive, verbs.StreamReceive, n-1, verbs.StatusFlushed)
	// If both sides disconnect gracefully at the same time, the connection also ends gracefully.
	m = r.connected()
	r.ok("disconnect", m.active.Disconnect(verbs.CloseGraceful))
	r.ok("disconnect", m.passive.Disconnect(verbs.CloseGraceful))
	r.a.expect(m.active, verbs.EventDisconnected, verbs.StateDisconnected)
	r.p.expect(m.passive, verbs.EventDisconnected, verbs.StateDisconnected)
	// An abrupt disconnect may follow a graceful disconnect that has not ended.
	m = r.connected()
	r.ok("disconnect", m.active.Disconnect(verbs.CloseGraceful))
	r.ok("disconnect", m.active.Disconnect(verbs.CloseAbrupt))
	r.state(m.active, verbs.StateDisconnected)
	r.a.expect(m.active, verbs.EventDisconnected, verbs.StateDisconnected)
	r.quiet()
	r.equal("entries left", len(r.a.log), 0)
}

func testAbrupt(r *rig) {
	m := r.meet(r.a.endpoint(), r.p.endpoint(), param(0, 1), nil)
	remote := r.p.region.Remote(0, 8)
	const n = 6
	for id := range uint64(n) {
		r.a.receive(m.active, id, 0, 8)
		r.ok("read", m.active.Post(&verbs.WorkRequest{
			ID: id, Op: verbs.OpRead, Flags: verbs.FlagUnsignalled, Segments: []verbs.Segment{r.a.region.Segment(0, 8)}, RemoteAddress: remote.Address, RKey: remote.RKey,
		}))
	}
	// The first Read is in flight, and the other Reads wait for it (ORD 1).
	r.ok("disconnect", m.active.Disconnect(verbs.CloseAbrupt))
	r.state(m.active, verbs.StateDisconnected)
	for id := range uint64(n) {
		r.a.done(m.active, verbs.StreamReceive, id, verbs.StatusFlushed)
		r.a.done(m.active, verbs.StreamRequest, id, verbs.StatusFlushed)
	}
	r.a.expect(m.active, verbs.EventDisconnected, verbs.StateDisconnected)
	e := r.p.event(m.passive)
	r.that(e.Type == verbs.EventBroken || e.Type == verbs.EventDisconnected, "event %v", e.Type)
	r.state(m.passive, verbs.StateDisconnected)
	r.ok("no effect", m.active.Disconnect(verbs.CloseAbrupt))
	r.quiet()
	r.equal("entries left", len(r.a.log), 0)
}

// testByState tries Modify in each state in which a test can keep an endpoint. It tries Disconnect and
// Free in the states in which they must fail.
func testByState(r *rig) {
	check := func(ep *verbs.Endpoint, s *side, state verbs.State, disconnect, domain, modify, free bool) {
		r.Helper()
		r.state(ep, state)
		may := func(what string, allowed bool, err error) {
			r.Helper()
			if allowed {
				r.ok(what, err)
			} else {
				r.is(what, err, verbs.ErrInvalidState)
			}
		}
		may("modify domain", domain, ep.Modify(verbs.ParamDomain, s.config()))
		may("modify queues", modify, ep.Modify(verbs.ParamReceives|verbs.ParamRequests|verbs.ParamConnections, s.config()))
		may("modify attributes", modify, ep.Modify(verbs.ParamAttributes, s.config()))
		if !disconnect {
			may("disconnect", false, ep.Disconnect(verbs.CloseAbrupt))
			may("disconnect", false, ep.Disconnect(verbs.CloseGraceful))
		}
		r.is("disconnect flags", ep.Disconnect(7), verbs.ErrInvalidParameter)
		if !free {
			may("free", false, ep.Free())
		}
		r.state(ep, state)
	}
	idle := r.a.endpoint()
	check(idle, r.a, verbs.StateUnconnected, false, true, true, true)
	passive := r.p.endpoint()
	l := r.p.listen(func(o *verbs.ListenOptions) { o.Endpoint = passive })
	check(passive, r.p, verbs.StateReserved, false, false, true, false)
	r.connect(idle, l.Address(), nil)
	check(idle, r.a, verbs.StateActiveConnectionPending, true, false, false, true)
	request := r.p.request()
	check(passive, r.p, verbs.StatePassiveConnectionPending, false, false, true, false)
	r.ok("accept", request.Accept(nil, nil))
	check(passive, r.p, verbs.StateCompletionPending, true, false, false, true)
	r.a.expect(idle, verbs.EventEstablished, verbs.StateConnected)
	r.p.expect(passive, verbs.EventEstablished, verbs.StateConnected)
	check(idle, r.a, verbs.StateConnected, true, false, false, true)
	r.ok("disconnect", idle.Disconnect(verbs.CloseAbrupt))
	check(idle, r.a, verbs.StateDisconnected, true, false, false, true)
	r.ok("free", idle.Free())
	// The passive side may disconnect after it has accepted.
	idle, passive = r.a.endpoint(), r.p.endpoint()
	r.connect(idle, r.p.listen().Address(), nil)
	r.ok("accept", r.p.request().Accept(passive, nil))
	r.ok("disconnect", passive.Disconnect(verbs.CloseGraceful))
	r.p.expect(passive, verbs.EventDisconnected, verbs.StateDisconnected)
}

func testModify(r *rig) {
	ep := r.a.endpoint()
	for id := range uint64(3) {
		r.a.receive(ep, id, int(id)*8, 8)
	}
	q := r.a.queue(64)
	c := r.a.config()
	c.Receives = q
	c.Attributes.MaxReceives = 2
	r.is("no place for what is posted", ep.Modify(verbs.ParamAttributes, c), verbs.ErrInvalidState)
	r.is("nothing named", ep.Modify(0, c), verbs.ErrInvalidParameter)
	r.is("no attributes", ep.Modify(verbs.ParamAttributes, verbs.EndpointConfig{}), verbs.ErrInvalidParameter)
	r.is("unknown", ep.Modify(1<<7, c), verbs.ErrInvalidParameter)
	r.is("foreign queue", ep.Modify(verbs.ParamReceives, r.p.config()), verbs.ErrInvalidHandle)
	c.Attributes.MaxReceives, c.Attributes.ReadsOut = 4, 1
	r.ok("modify", ep.Modify(verbs.ParamReceives|verbs.ParamAttributes, c))
	m := r.meet(ep, r.p.endpoint(), nil, nil)
	r.equal("initiator depth", m.activeEvent.InitiatorDepth, 1)
	r.a.receive(ep, 3, 24, 8)
	r.is("one receive more", ep.PostReceive(&verbs.ReceiveRequest{}), verbs.ErrInsufficientResources)
	r.p.receive(m.passive, 9, 0, 8)
	r.a.send(ep, 9, 0, 8) // on iWARP, the active side has to send first
	r.p.done(m.passive, verbs.StreamReceive, 9, verbs.StatusSuccess)
	for id := range uint64(4) {
		r.p.send(m.passive, id, 0, 8)
		var into [1]verbs.Completion
		r.pump("receive in the new queue", func() bool { return q.Poll(into[:]) == 1 })
		r.equal("receives in order", into[0].ID, id)
	}
}
