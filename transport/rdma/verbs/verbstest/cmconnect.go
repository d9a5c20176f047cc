package verbstest

import (
	"errors"
	"slices"
	"syscall"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// cmConnectStatements contains the statements of rdma_connect(3).
var cmConnectStatements = []statement{
	{52, "reliable_requests_and_datagram_lookups", func(r *rig) {
		// With the reliable service, a Connect arrives at the peer's consumer as a request.
		// Accept makes a reliable, ordered connection of the two endpoints.
		r.equal("default service", r.a.limits.Endpoint.Service, verbs.ServiceReliable)
		m := r.connected()
		const n = 8
		for id := range uint64(n) {
			r.p.receive(m.passive, id, int(id), 1)
		}
		copy(r.a.memory, pattern(2, n))
		for id := range uint64(n) {
			r.a.send(m.active, id, int(id), 1)
		}
		for id := range uint64(n) {
			r.p.done(m.passive, verbs.StreamReceive, id, verbs.StatusSuccess)
		}
		r.equal("in order", string(r.p.memory[:n]), string(pattern(2, n)))
		// There are no datagram lookups, because no adapter supports the datagram service and no
		// endpoint can get it.
		r.that(slices.Equal(r.a.limits.Services, []verbs.Service{verbs.ServiceReliable}), "services %v", r.a.limits.Services)
		for _, other := range []verbs.Service{verbs.ServiceDatagram, verbs.ServiceDatagram + 1} {
			c := r.a.config()
			c.Attributes.Service = other
			_, err := r.a.adapter.NewEndpoint(c)
			r.is("endpoint", err, verbs.ErrModelNotSupported)
			ep := r.a.endpoint()
			r.is("modify", ep.Modify(verbs.ParamAttributes, c), verbs.ErrModelNotSupported)
			r.equal("service", must[verbs.EndpointInfo](r, "query")(ep.Query()).Attributes.Service, verbs.ServiceReliable)
			r.connect(ep, r.p.listen().Address(), nil)
			r.p.request()
		}
	}},
	{53, "errors_wrap_an_errno", func(r *rig) {
		ep := r.a.endpoint()
		err := ep.Connect(r.p.listen().Address(), verbs.ConnectOptions{})
		var op *verbs.OpError
		r.that(errors.As(err, &op), "%v is no OpError", err)
		r.that(op.Op == "connect" && op.Provider == r.a.limits.Provider && op.Peer != "" && op.Fault == verbs.ErrInvalidParameter, "%+v", op)
		var fault verbs.Fault
		r.that(errors.As(err, &fault) && fault.Errno() == syscall.EINVAL, "errno of %v", err)
		r.is("errno", err, syscall.EINVAL)
		var none *verbs.Endpoint
		r.is("errno", none.Connect(r.p.listen().Address(), options(nil)), syscall.EBADF)
	}},
	{54, "without_a_route_there_is_no_request", func(r *rig) {
		scene, ok := r.harness.Inject(r, FaultUnreachable)
		if !ok {
			r.Skip("no unreachable address here")
		}
		// Connect also resolves the route. If there is no route, no connection is made.
		ep := r.a.endpoint()
		if err := ep.Connect(scene.Remote, options(nil)); err != nil {
			r.is("connect", err, verbs.ErrInvalidAddress)
			r.state(ep, verbs.StateUnconnected)
			return
		}
		r.a.expect(ep, verbs.EventUnreachable, verbs.StateDisconnected)
	}},
	{55, "private_data_are_copied_and_may_be_padded", func(r *rig) {
		private := []byte("as it was")
		l, ep := r.p.listen(), r.a.endpoint()
		r.connect(ep, l.Address(), data(private))
		copy(private, "changed!!")
		request := r.p.request()
		info := must[verbs.RequestInfo](r, "query")(request.Query())
		r.sameData(r.p, info.Param.PrivateData, []byte("as it was"))
		info.Param.PrivateData[0] = 'X' // Query returns a copy, which the consumer may change
		info = must[verbs.RequestInfo](r, "query")(request.Query())
		r.sameData(r.p, info.Param.PrivateData, []byte("as it was"))
		copy(private, "an answer")
		r.ok("accept", request.Accept(r.p.endpoint(), data(private)))
		copy(private, "changed!!")
		r.sameData(r.a, r.a.expect(ep, verbs.EventEstablished, verbs.StateConnected).PrivateData, []byte("an answer"))
	}},
	{56, "responder_resources_have_limits", func(r *rig) { testDepthLimits(r, true) }},
	{57, "initiator_depth_has_limits", func(r *rig) { testDepthLimits(r, false) }},
	{58, "flow_control_is_only_exchanged", func(r *rig) {
		for _, on := range []bool{false, true} {
			l, ep, passive := r.p.listen(), r.a.endpoint(), r.p.endpoint()
			p := param(1, 1)
			p.FlowControl = on
			r.connect(ep, l.Address(), p)
			request := r.p.request()
			got := must[verbs.RequestInfo](r, "query")(request.Query()).Param.FlowControl
			r.equal("flow control", got, on && r.a.limits.CarriesConnParam)
			r.ok("accept", request.Accept(passive, nil))
			r.a.expect(ep, verbs.EventEstablished, verbs.StateConnected)
			r.p.expect(passive, verbs.EventEstablished, verbs.StateConnected)
			r.talk(&meeting{active: ep, passive: passive})
		}
	}},
	{59, "retries_of_requests_and_of_messages_without_receive", testRetries},
	{60, "srq_and_qp_num_are_ignored", func(r *rig) {
		p := param(2, 2)
		p.SRQ, p.QPNum = true, 0xDEADBEEF
		r.talk(r.meet(r.a.endpoint(), r.p.endpoint(), p, p))
	}},
	{61, "retry_counts_have_three_bits", func(r *rig) {
		l, ep := r.p.listen(), r.a.endpoint()
		for _, p := range []verbs.ConnParam{{RetryCount: 8}, {RNRRetryCount: 8}, {RetryCount: 255}, {RNRRetryCount: 255}} {
			r.is("connect", ep.Connect(l.Address(), options(&p)), verbs.ErrInvalidParameter)
			r.state(ep, verbs.StateUnconnected)
		}
		for n := range uint8(8) {
			r.connect(r.a.endpoint(), l.Address(), &verbs.ConnParam{RetryCount: n, RNRRetryCount: 7 - n})
			got := must[verbs.RequestInfo](r, "query")(r.p.request().Query()).Param
			if r.a.limits.CarriesConnParam {
				r.that(got.RetryCount == n && got.RNRRetryCount == 7-n, "%d and %d became %d and %d", n, 7-n, got.RetryCount, got.RNRRetryCount)
			}
		}
	}},
	{62, "the_rnr_timer_is_known", func(r *rig) {
		want := r.a.limits.MinRNRTimer
		r.equal("there is one", want > 0, r.a.limits.WaitsForReceive)
		r.equal("minimum RNR timer of the peer", r.p.limits.MinRNRTimer, want)
		r.bubble(func(r *rig) { // a message is retried after the time of the RNR timer
			answer := param(1, 1)
			answer.RNRRetryCount = 1
			m := r.meet(r.a.endpoint(), r.p.endpoint(), nil, answer)
			start := time.Now()
			r.a.send(m.active, 1, 0, 8)
			r.a.expect(m.active, verbs.EventBroken, verbs.StateDisconnected)
			r.that(time.Since(start) >= want && time.Since(start) < want+want/2+time.Second, "failed after %v, the timer is %v", time.Since(start), want)
		})
	}},
	{63, "the_active_side_speaks_first", func(r *rig) {
		scene, mute := r.harness.Inject(r, FaultMute)
		if !r.a.limits.ActiveSpeaksFirst {
			mute = false
		}
		if mute {
			r.a = r.wrap(scene.Adapter)
		}
		m := r.connected()
		r.a.receive(m.active, 1, 0, 8)
		r.p.receive(m.passive, 2, 0, 8)
		r.p.send(m.passive, 3, 64, 8) // the passive side posts before the first message of the active side
		if !r.a.limits.ActiveSpeaksFirst {
			r.a.done(m.active, verbs.StreamReceive, 1, verbs.StatusSuccess)
		}
		if mute {
			r.quiet()
			r.equal("entries of an active side that is silent", len(r.a.log), 0)
		}
		r.a.send(m.active, 4, 64, 8)
		r.p.done(m.passive, verbs.StreamReceive, 2, verbs.StatusSuccess)
		if r.a.limits.ActiveSpeaksFirst {
			r.a.done(m.active, verbs.StreamReceive, 1, verbs.StatusSuccess)
		}
		r.p.done(m.passive, verbs.StreamRequest, 3, verbs.StatusSuccess)
		r.state(m.active, verbs.StateConnected)
		r.state(m.passive, verbs.StateConnected)
	}},
}

// testDepthLimits tests the limits of the active side's IRD if in is true, and of its ORD
// otherwise.
func testDepthLimits(r *rig, in bool) {
	limit, peer := r.a.limits.MaxReadsOut, r.p.limits.MaxReadsIn
	if in {
		limit, peer = r.a.limits.MaxReadsIn, r.p.limits.MaxReadsOut
	}
	ask := func(n int) *verbs.ConnParam {
		if in {
			return param(n, 0)
		}
		return param(0, n)
	}
	l := r.p.listen()
	r.is("beyond the limit", r.a.endpoint().Connect(l.Address(), options(ask(limit+1))), verbs.ErrInvalidParameter)
	for _, n := range []int{0, 1, min(limit, peer)} {
		ep, passive := r.a.endpoint(), r.p.endpoint()
		r.connect(ep, l.Address(), ask(n))
		request := r.p.request()
		seen := must[verbs.RequestInfo](r, "query")(request.Query()).Param
		answer, got := param(0, seen.InitiatorDepth), seen.InitiatorDepth
		if !in {
			answer, got = param(seen.ResponderResources/2, 0), seen.ResponderResources
		}
		if got != verbs.DepthDefault {
			r.equal("seen by the peer", got, n)
		}
		r.ok("accept", request.Accept(passive, answer)) // the passive side may lower the depth
		e := r.a.expect(ep, verbs.EventEstablished, verbs.StateConnected)
		if in {
			r.that(e.ResponderResources >= n, "serves %d, want %d", e.ResponderResources, n)
		} else {
			r.equal("initiator depth", e.InitiatorDepth, n/2)
		}
	}
	// The limit itself is a legal value, even if it is more than the peer can use.
	ep := r.a.endpoint()
	r.connect(ep, l.Address(), ask(limit))
	r.ok("accept", r.p.request().Accept(r.p.endpoint(), param(0, 0)))
	r.a.expect(ep, verbs.EventEstablished, verbs.StateConnected)
}

// testRetries posts messages for which the peer has no receive. On adapters that retry such
// messages, first one side posts them and then the other side. The test checks that each side sets
// the number of retries of the other side's messages.
func testRetries(r *rig) {
	for _, retries := range []uint8{0, 7} {
		answer := param(1, 1)
		answer.RNRRetryCount = retries
		m := r.meet(r.a.endpoint(), r.p.endpoint(), param(1, 1), answer)
		if r.a.limits.CarriesConnParam {
			r.that(m.request.Param.RetryCount == 7 && m.request.Param.RNRRetryCount == 7, "retry counts %+v", m.request.Param)
		}
		copy(r.a.memory, "patience")
		r.a.send(m.active, 1, 0, 8)
		if r.a.limits.WaitsForReceive && retries == 7 {
			r.quiet()
			r.p.receive(m.passive, 2, 100, 8)
			r.p.done(m.passive, verbs.StreamReceive, 2, verbs.StatusSuccess)
			r.equal("message", string(r.p.memory[100:108]), "patience")
			r.a.done(m.active, verbs.StreamRequest, 1, verbs.StatusSuccess)
			continue
		}
		r.a.expect(m.active, verbs.EventBroken, verbs.StateDisconnected)
		r.p.expect(m.passive, verbs.EventBroken, verbs.StateDisconnected)
		if r.a.limits.WaitsForReceive {
			r.a.done(m.active, verbs.StreamRequest, 1, verbs.StatusReceiverNotReady)
		}
	}
	if r.a.limits.WaitsForReceive {
		r.bubble(func(r *rig) {
			for retries := range uint8(8) {
				testRetriesOf(r, retries, false)
				testRetriesOf(r, retries, true)
			}
		})
	}
}

// testRetriesOf checks the number of retries of a message from the active side or, if ofPassive is
// true, from the passive side. It computes the number from the elapsed time, because the delay of a
// retry is known. The count starts anew with every message.
func testRetriesOf(r *rig, retries uint8, ofPassive bool) {
	r.Helper()
	timer := r.a.limits.MinRNRTimer
	ask, answer := param(1, 1), param(1, 1)
	from, to := r.a, r.p
	if ofPassive {
		from, to = r.p, r.a
		ask.RNRRetryCount, answer.RNRRetryCount = retries, 7-retries
	} else {
		ask.RNRRetryCount, answer.RNRRetryCount = 7-retries, retries
	}
	m := r.meet(r.a.endpoint(), r.p.endpoint(), ask, answer)
	source, sink := m.active, m.passive
	if ofPassive {
		source, sink = m.passive, m.active
	}
	tries, messages := int(retries), 3
	switch retries {
	case 0:
		messages = 0
	case retriesForever:
		tries = 50
	}
	for id := range uint64(messages) {
		start := time.Now()
		from.send(source, id, 0, 8)
		before := time.Duration(tries)*timer - timer/2 // half of a delay before the last retry
		r.pump("the last try", func() bool { return time.Since(start) >= before })
		to.receive(sink, id, 0, 8)
		to.done(sink, verbs.StreamReceive, id, verbs.StatusSuccess)
		from.done(source, verbs.StreamRequest, id, verbs.StatusSuccess)
	}
	if retries == retriesForever {
		return
	}
	start := time.Now()
	from.send(source, 9, 0, 8)
	from.done(source, verbs.StreamRequest, 9, verbs.StatusReceiverNotReady)
	r.equal("retries", int(time.Since(start)/timer), int(retries))
	from.expect(source, verbs.EventBroken, verbs.StateDisconnected)
	to.expect(sink, verbs.EventBroken, verbs.StateDisconnected)
}
