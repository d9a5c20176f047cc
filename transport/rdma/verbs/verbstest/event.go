package verbstest

import (
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// eventStatements are those of dat_ep_connect(3DAT) on outcomes and read depths.
var eventStatements = []statement{
	{8, "a_qos_the_peer_lacks_is_non_peer_rejected", func(r *rig) {
		scene, ok := r.harness.Inject(r, FaultQoS)
		if !ok {
			// The peer has the same list: what it lacks is not supported here either.
			o := options(nil)
			o.QoS = 77
			r.is("connect", r.a.endpoint().Connect(r.p.listen().Address(), o), verbs.ErrModelNotSupported)
			return
		}
		poor := r.wrap(scene.Adapter)
		ep, l := r.a.endpoint(), poor.listen()
		o := options(nil)
		o.QoS = scene.QoS
		r.ok("connect", ep.Connect(l.Address(), o))
		r.a.expect(ep, verbs.EventNonPeerRejected, verbs.StateDisconnected)
		r.that(len(poor.log) == 0, "the request reached the consumer")
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
			return // the page allows it
		}
		r.equal("event", e.Type, verbs.EventEstablished)
		r.equal("initiator depth", e.InitiatorDepth, 1)
	}},
	{20, "depths_may_travel_in_private_data", func(r *rig) {
		l, ep := r.p.listen(), r.a.endpoint()
		r.connect(ep, l.Address(), &verbs.ConnParam{PrivateData: []byte{3, 2}, ResponderResources: 3, InitiatorDepth: 2})
		request := r.p.request()
		private := must[verbs.RequestInfo](r, "query")(request.Query()).Param.PrivateData
		in, out := min(int(private[1]), 2), min(int(private[0]), 2)
		r.ok("accept", request.Accept(r.p.endpoint(), &verbs.ConnParam{PrivateData: []byte{byte(in), byte(out)}, ResponderResources: in, InitiatorDepth: out}))
		e := r.a.expect(ep, verbs.EventEstablished, verbs.StateConnected)
		r.equal("initiator depth", e.InitiatorDepth, int(e.PrivateData[0]))
		r.that(e.ResponderResources >= int(e.PrivateData[1]), "serves %d reads, the peer may have %d", e.ResponderResources, e.PrivateData[1])
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
		r.talk(m) // and the connection lives on
	}},
	{22, "unset_depths_are_final_after_established", func(r *rig) {
		unset := func(c *verbs.EndpointConfig) {
			c.Attributes.ReadsIn, c.Attributes.ReadsOut = verbs.DepthDefault, verbs.DepthDefault
		}
		m := r.connected(unset)
		active := must[verbs.EndpointInfo](r, "query")(m.active.Query()).Attributes
		passive := must[verbs.EndpointInfo](r, "query")(m.passive.Query()).Attributes
		r.fit(r.a, r.p, &active, &passive)
		r.equal("final depth of the event", m.activeEvent.InitiatorDepth, active.ReadsOut)
		r.equal("final depth of the event", m.passiveEvent.ResponderResources, passive.ReadsIn)
	}},
	{23, "concurrent_connects_have_one_winner", func(r *rig) {
		l, ep := r.p.listen(), r.a.endpoint()
		r.oneWinner(8, verbs.ErrInvalidState, func(int) error { return ep.Connect(l.Address(), options(nil)) })
		r.p.request()
		r.quiet()
		r.equal("further requests", len(r.p.log), 0)
	}},
}

// fit checks that final depths of two sides agree and respect the limits.
func (r *rig) fit(a, p *side, active, passive *verbs.EndpointAttributes) {
	r.Helper()
	r.that(active.ReadsIn >= 0 && active.ReadsIn <= a.limits.MaxReadsIn && active.ReadsOut >= 0 && active.ReadsOut <= a.limits.MaxReadsOut,
		"active depths %d/%d beyond the limits", active.ReadsIn, active.ReadsOut)
	r.that(passive.ReadsIn >= 0 && passive.ReadsIn <= p.limits.MaxReadsIn && passive.ReadsOut >= 0 && passive.ReadsOut <= p.limits.MaxReadsOut,
		"passive depths %d/%d beyond the limits", passive.ReadsIn, passive.ReadsOut)
	r.that(active.ReadsOut <= passive.ReadsIn, "active ORD %d, passive IRD %d", active.ReadsOut, passive.ReadsIn)
	r.that(passive.ReadsOut <= active.ReadsIn, "passive ORD %d, active IRD %d", passive.ReadsOut, active.ReadsIn)
}

// timeOut has an attempt of side a time out after its request has reached a listener
// of side p, and returns the request.
func (r *rig) timeOut(ep *verbs.Endpoint, l *verbs.Listener) *verbs.ConnectionRequest {
	r.Helper()
	isRequest := func(c logged) bool { return c.Stream == verbs.StreamConnectionRequest && c.Event.Local == l.Address() }
	for timeout := 20 * time.Millisecond; ; timeout *= 4 {
		r.ok("connect", ep.Connect(l.Address(), verbs.ConnectOptions{Timeout: timeout}))
		e := r.a.event(ep)
		r.state(ep, verbs.StateDisconnected)
		// On a crowded machine the time may be over before the request has arrived.
		if slices.ContainsFunc(r.p.log, isRequest) {
			r.equal("event", e.Type, verbs.EventTimedOut)
			return r.p.next("request", func(c *logged) bool { return isRequest(*c) }).Event.Request
		}
		r.that(e.Type == verbs.EventUnreachable || e.Type == verbs.EventTimedOut, "event %v", e.Type)
		r.ok("reset", ep.Reset())
	}
}

func testNonPeerRejected(r *rig) {
	refused := func(ep *verbs.Endpoint) {
		r.Helper()
		e := r.a.expect(ep, verbs.EventNonPeerRejected, verbs.StateDisconnected)
		r.that(e.Err != nil, "no cause")
	}
	// (a) Nothing listens there any more.
	l := r.p.listen()
	r.ok("close", l.Close())
	ep := r.a.endpoint()
	r.connect(ep, l.Address(), nil)
	refused(ep)
	// (b) The backlog is full: of three requests two are taken.
	l = r.p.listen(func(o *verbs.ListenOptions) { o.Backlog = 2 })
	for range 3 {
		ep = r.a.endpoint()
		r.connect(ep, l.Address(), nil)
	}
	first, second := r.p.request(), r.p.request()
	c := r.a.next("refusal", func(c *logged) bool { return c.Stream == verbs.StreamConnection })
	r.equal("event", c.Event.Type, verbs.EventNonPeerRejected)
	r.state(c.Endpoint, verbs.StateDisconnected)
	// An answer makes room again.
	r.ok("reject", first.Reject(nil))
	ep = r.a.endpoint()
	r.connect(ep, l.Address(), nil)
	third := r.p.request()
	r.ok("accept", second.Accept(r.p.endpoint(), nil))
	r.ok("accept", third.Accept(r.p.endpoint(), nil))
	r.a.expect(ep, verbs.EventEstablished, verbs.StateConnected)
	// (c) The transport fails.
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
