package verbstest

import (
	"fmt"
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// eventStatements contains the statements of dat_ep_connect(3DAT) about outcomes and read depths.
var eventStatements = []statement{
	{8, "a_qos_the_peer_lacks_is_non_peer_rejected", func(r *rig) {
		scene, ok := r.harness.Inject(r, FaultQoS)
		if !ok {
			// Both sides support the same single quality of service. Therefore a Connect with another
			// quality fails on this side, and the peer does not have to refuse it.
			r.equal("qualities of service", len(r.a.limits.QoS), 1)
			o := options(nil)
			o.QoS = 77
			r.is("connect", r.a.endpoint().Connect(r.p.listen().Address(), o), verbs.ErrModelNotSupported)
			return
		}
		poor := r.wrap(scene.Adapter)
		poor.domain, poor.region = must[*verbs.ProtectionDomain](r, "domain")(poor.adapter.NewProtectionDomain()), nil
		rich, l := r.p.listen(), poor.listen(func(o *verbs.ListenOptions) { o.Backlog = 1 })
		o := options(nil)
		o.QoS = scene.QoS
		for range 2 { // a refused request does not count toward the backlog
			ep := r.a.endpoint()
			r.ok("connect", ep.Connect(l.Address(), o))
			r.pump("refusal", func() bool { return len(r.a.log)+len(poor.log) > 0 })
			r.equal("entries of the peer's consumer", len(poor.log), 0)
			e := r.a.expect(ep, verbs.EventNonPeerRejected, verbs.StateDisconnected)
			r.that(e.Err != nil, "no cause")
		}
		for _, peer := range []struct {
			*side
			listener *verbs.Listener
			qos      verbs.QoS
		}{{r.p, rich, scene.QoS}, {poor, l, verbs.QoSBestEffort}} {
			ep := r.a.endpoint()
			o.QoS = peer.qos
			r.ok("connect", ep.Connect(peer.listener.Address(), o))
			request := peer.request()
			r.equal("qos", must[verbs.RequestInfo](r, "query")(request.Query()).QoS, peer.qos)
			r.ok("accept", request.Accept(peer.endpoint(), nil))
			r.a.expect(ep, verbs.EventEstablished, verbs.StateConnected)
		}
	}},
	{9, "non_peer_rejected_is_the_rest", testNonPeerRejected},
	{10, "established_needs_consumer_and_transport", func(r *rig) {
		l, ep := r.p.listen(), r.a.endpoint()
		r.connect(ep, l.Address(), nil)
		request := r.p.request()
		r.quiet()
		r.state(ep, verbs.StateActiveConnectionPending)
		r.ok("accept", request.Accept(r.p.endpoint(), nil))
		r.state(ep, verbs.StateActiveConnectionPending)
		r.a.expect(ep, verbs.EventEstablished, verbs.StateConnected)
	}},
	{11, "a_reject_is_peer_rejected", func(r *rig) {
		l, ep := r.p.listen(), r.a.endpoint()
		r.connect(ep, l.Address(), nil)
		private := pattern(3, min(40, r.p.limits.MaxRejectData))
		r.ok("reject", r.p.request().Reject(private))
		r.sameData(r.a, r.a.expect(ep, verbs.EventPeerRejected, verbs.StateDisconnected).PrivateData, private)
	}},
	{12, "no_host_is_unreachable", func(r *rig) {
		nowhere, unreachable := r.harness.Inject(r, FaultUnreachable)
		if unreachable {
			ep := r.a.endpoint()
			r.connect(ep, nowhere.Remote, nil)
			r.a.expect(ep, verbs.EventUnreachable, verbs.StateDisconnected)
		}
		hole, silence := r.harness.Inject(r, FaultSilence)
		if silence {
			ep := r.a.endpoint()
			r.ok("connect", ep.Connect(hole.Remote, verbs.ConnectOptions{Timeout: time.Millisecond}))
			r.a.expect(ep, verbs.EventUnreachable, verbs.StateDisconnected)
		}
		if !unreachable && !silence {
			r.Skip("no address here leads nowhere")
		}
	}},
	{13, "no_answer_in_time_is_timed_out", func(r *rig) {
		r.timeOut(r.a.endpoint(), r.p.listen())
	}},
	{14, "one_event_each_on_the_connect_queue", testOneEvent},
	{19, "a_depth_beyond_the_peers_is_lowered_or_refused", func(r *rig) {
		l, ep := r.p.listen(), r.a.endpoint()
		r.connect(ep, l.Address(), param(2, 4))
		r.ok("accept", r.p.request().Accept(r.p.endpoint(), param(1, 2)))
		e := r.a.event(ep)
		if e.Type == verbs.EventNonPeerRejected {
			return // the manual page allows this outcome
		}
		r.equal("event", e.Type, verbs.EventEstablished)
		r.equal("initiator depth", e.InitiatorDepth, 1)
	}},
	{20, "depths_may_travel_in_private_data", func(r *rig) {
		// The consumers negotiate the depths by themselves. The private data of the active consumer
		// hold the depths that it wants (IRD, ORD). The private data of the passive consumer hold
		// the depths that it grants. Both consumers set the granted depths. Every value differs
		// from the value that the providers would have negotiated.
		l, m := r.p.listen(), &meeting{active: r.a.endpoint(), passive: r.p.endpoint()}
		r.connect(m.active, l.Address(), &verbs.ConnParam{PrivateData: []byte{3, 4}, ResponderResources: 3, InitiatorDepth: 4})
		request := r.p.request()
		wants := must[verbs.RequestInfo](r, "query")(request.Query()).Param.PrivateData
		r.sameData(r.p, wants, []byte{3, 4})
		in, out := int(wants[1])/2, int(wants[0])/3
		r.ok("accept", request.Accept(m.passive, &verbs.ConnParam{PrivateData: []byte{byte(in), byte(out)}, ResponderResources: in, InitiatorDepth: out}))
		m.activeEvent = r.a.expect(m.active, verbs.EventEstablished, verbs.StateConnected)
		m.passiveEvent = r.p.expect(m.passive, verbs.EventEstablished, verbs.StateConnected)
		granted := m.activeEvent.PrivateData
		r.sameData(r.a, granted, []byte{2, 1})
		r.equal("active initiator depth", m.activeEvent.InitiatorDepth, int(granted[0]))
		r.that(m.activeEvent.ResponderResources >= int(granted[1]), "serves %d reads, the peer may have %d", m.activeEvent.ResponderResources, granted[1])
		r.equal("passive responder resources", m.passiveEvent.ResponderResources, in)
		r.equal("passive initiator depth", m.passiveEvent.InitiatorDepth, out)
		r.read(m)
	}},
	{21, "zero_depths_connect_without_reads", func(r *rig) {
		m := r.meet(r.a.endpoint(), r.p.endpoint(), param(0, 0), param(0, 0))
		r.talk(m)
		for _, at := range []struct {
			s  *side
			ep *verbs.Endpoint
		}{{r.a, m.active}, {r.p, m.passive}} {
			r.is("read", at.ep.Post(&verbs.WorkRequest{Op: verbs.OpRead, Segments: []verbs.Segment{at.s.region.Segment(0, 8)}}), verbs.ErrModelNotSupported)
		}
		r.talk(m) // the refused Reads have not ended the connection
	}},
	{22, "unset_depths_are_final_after_established", func(r *rig) {
		unset := func(c *verbs.EndpointConfig) {
			c.Attributes.ReadsIn, c.Attributes.ReadsOut = verbs.DepthDefault, verbs.DepthDefault
		}
		// The depths are unset on both sides, or unset on one side and small on the other side.
		for _, p := range [][2]*verbs.ConnParam{{nil, nil}, {nil, param(1, 2)}, {param(1, 2), nil}, {nil, param(0, 0)}} {
			m := r.meet(r.a.endpoint(unset), r.p.endpoint(unset), p[0], p[1])
			active := must[verbs.EndpointInfo](r, "query")(m.active.Query()).Attributes
			passive := must[verbs.EndpointInfo](r, "query")(m.passive.Query()).Attributes
			r.fit(r.a, r.p, &active, &passive)
			for _, at := range []struct {
				e *verbs.Event
				a *verbs.EndpointAttributes
			}{{m.activeEvent, &active}, {m.passiveEvent, &passive}} {
				r.equal("IRD and ORD of query", fmt.Sprint(at.a.ReadsIn, at.a.ReadsOut), fmt.Sprint(at.e.ResponderResources, at.e.InitiatorDepth))
			}
			switch {
			case p[1] != nil:
				r.equal("IRD and ORD as accepted", fmt.Sprint(passive.ReadsIn, passive.ReadsOut), fmt.Sprint(p[1].ResponderResources, p[1].InitiatorDepth))
				r.equal("ORD as granted", active.ReadsOut, p[1].ResponderResources)
			case p[0] != nil:
				r.equal("IRD and ORD as requested", fmt.Sprint(active.ReadsIn, active.ReadsOut), fmt.Sprint(p[0].ResponderResources, p[0].InitiatorDepth))
				r.equal("ORD as offered", passive.ReadsOut, p[0].ResponderResources)
			}
			r.read(m)
		}
	}},
	{23, "concurrent_connects_have_one_winner", func(r *rig) {
		l, ep := r.p.listen(), r.a.endpoint()
		r.oneWinner(8, verbs.ErrInvalidState, func(int) error { return ep.Connect(l.Address(), options(nil)) })
		r.p.request()
		r.quiet()
		r.equal("further requests", len(r.p.log), 0)
	}},
}

// fit checks that the final depths of the two sides agree and are within the limits.
func (r *rig) fit(a, p *side, active, passive *verbs.EndpointAttributes) {
	r.Helper()
	r.that(active.ReadsIn >= 0 && active.ReadsIn <= a.limits.MaxReadsIn && active.ReadsOut >= 0 && active.ReadsOut <= a.limits.MaxReadsOut,
		"active depths %d/%d beyond the limits", active.ReadsIn, active.ReadsOut)
	r.that(passive.ReadsIn >= 0 && passive.ReadsIn <= p.limits.MaxReadsIn && passive.ReadsOut >= 0 && passive.ReadsOut <= p.limits.MaxReadsOut,
		"passive depths %d/%d beyond the limits", passive.ReadsIn, passive.ReadsOut)
	r.that(active.ReadsOut <= passive.ReadsIn, "active ORD %d, passive IRD %d", active.ReadsOut, passive.ReadsIn)
	r.that(passive.ReadsOut <= active.ReadsIn, "passive ORD %d, active IRD %d", passive.ReadsOut, active.ReadsIn)
}

// timeOut makes a connection attempt of side a that times out after its request has arrived at a
// listener of side p, and returns the request.
func (r *rig) timeOut(ep *verbs.Endpoint, l *verbs.Listener) *verbs.ConnectionRequest {
	r.Helper()
	isRequest := func(c logged) bool { return c.Stream == verbs.StreamConnectionRequest && c.Event.Local == l.Address() }
	for timeout := 20 * time.Millisecond; ; timeout *= 4 {
		r.ok("connect", ep.Connect(l.Address(), verbs.ConnectOptions{Timeout: timeout}))
		e := r.a.event(ep)
		r.state(ep, verbs.StateDisconnected)
		r.that(e.Type == verbs.EventUnreachable || e.Type == verbs.EventTimedOut, "event %v", e.Type)
		// On a busy machine, the timeout may expire before the request has arrived, or before side a
		// knows that it has arrived.
		for slices.ContainsFunc(r.p.log, isRequest) {
			request := r.p.next("request", func(c *logged) bool { return isRequest(*c) }).Event.Request
			if e.Type == verbs.EventTimedOut {
				return request
			}
			r.ok("reject", request.Reject(nil))
		}
		r.ok("reset", ep.Reset())
	}
}

func testNonPeerRejected(r *rig) {
	refused := func(ep *verbs.Endpoint) {
		r.Helper()
		e := r.a.expect(ep, verbs.EventNonPeerRejected, verbs.StateDisconnected)
		r.that(e.Err != nil, "no cause")
	}
	// Case (a): no listener has the address any more.
	l := r.p.listen()
	r.ok("close", l.Close())
	ep := r.a.endpoint()
	r.connect(ep, l.Address(), nil)
	refused(ep)
	// Case (b): the backlog is full. It has room for two of three requests.
	l = r.p.listen(func(o *verbs.ListenOptions) { o.Backlog = 2 })
	for range 3 {
		ep = r.a.endpoint()
		r.connect(ep, l.Address(), nil)
	}
	first, second := r.p.request(), r.p.request()
	c := r.a.next("refusal", func(c *logged) bool { return c.Stream == verbs.StreamConnection })
	r.equal("event", c.Event.Type, verbs.EventNonPeerRejected)
	r.state(c.Endpoint, verbs.StateDisconnected)
	// An answer makes room in the backlog.
	r.ok("reject", first.Reject(nil))
	ep = r.a.endpoint()
	r.connect(ep, l.Address(), nil)
	third := r.p.request()
	r.ok("accept", second.Accept(r.p.endpoint(), nil))
	r.ok("accept", third.Accept(r.p.endpoint(), nil))
	r.a.expect(ep, verbs.EventEstablished, verbs.StateConnected)
	// Case (c): the transport fails.
	if scene, ok := r.harness.Inject(r, FaultTransport); ok {
		ep = r.a.endpoint()
		r.connect(ep, scene.Remote, nil)
		refused(ep)
	}
}

func testOneEvent(r *rig) {
	l := r.p.listen()
	closed := r.p.listen()
	r.ok("close", closed.Close())
	accepted, rejected, refused, aborted := r.a.endpoint(), r.a.endpoint(), r.a.endpoint(), r.a.endpoint()
	r.connect(accepted, l.Address(), nil)
	r.ok("accept", r.p.request().Accept(r.p.endpoint(), nil))
	r.connect(rejected, l.Address(), nil)
	r.ok("reject", r.p.request().Reject(nil))
	r.connect(refused, closed.Address(), nil)
	r.connect(aborted, l.Address(), nil)
	r.ok("disconnect", aborted.Disconnect(verbs.CloseGraceful))
	late := r.a.endpoint()
	r.timeOut(late, r.p.listen())
	for ep, want := range map[*verbs.Endpoint]verbs.EventType{
		accepted: verbs.EventEstablished, rejected: verbs.EventPeerRejected, refused: verbs.EventNonPeerRejected, aborted: verbs.EventDisconnected,
	} {
		r.equal("event", r.a.event(ep).Type, want)
	}
	r.quiet()
	for i := range r.a.log {
		r.Errorf("one more entry: %+v", r.a.log[i])
	}
}
