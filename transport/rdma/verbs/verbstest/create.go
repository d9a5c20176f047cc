package verbstest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// createStatements contains the statements of dat_ep_create(3DAT) about making an endpoint.
var createStatements = []statement{
	{37, "an_endpoint_is_made_unconnected", func(r *rig) {
		r.state(r.a.endpoint(), verbs.StateUnconnected)
		ep, err := r.a.adapter.NewEndpoint(verbs.EndpointConfig{})
		r.that(ep == nil && err != nil, "made without a domain: %v", err)
	}},
	{38, "without_a_queue_there_are_no_entries", func(r *rig) {
		m := r.connected()
		mute := r.a.endpoint(func(c *verbs.EndpointConfig) { c.Receives, c.Requests = nil, nil })
		n := r.meet(mute, r.p.endpoint(), nil, nil)
		r.p.receive(n.passive, 1, 0, 8)
		r.a.send(mute, 2, 0, 8)
		r.p.done(n.passive, verbs.StreamReceive, 1, verbs.StatusSuccess)
		r.a.receive(mute, 3, 0, 8)
		r.p.send(n.passive, 4, 0, 8)
		r.p.done(n.passive, verbs.StreamRequest, 4, verbs.StatusSuccess)
		r.pump("mute endpoint idle", func() bool { s, err := mute.Status(); return err == nil && s.ReceiveIdle && s.RequestIdle })
		deaf := r.a.endpoint(func(c *verbs.EndpointConfig) { c.Connections = nil })
		l := r.p.listen()
		r.connect(deaf, l.Address(), nil)
		r.ok("accept", r.p.request().Accept(r.p.endpoint(), nil))
		r.pump("connected without an event", func() bool { s, err := deaf.Status(); return err == nil && s.State == verbs.StateConnected })
		r.quiet()
		r.equal("entries of the mute and the deaf", len(r.a.log), 0)
		r.talk(m)
	}},
	{39, "each_stream_has_its_queue", testStreams},
	{40, "memory_of_another_domain_is_out_of_reach", testProtection},
	{41, "nil_attributes_are_the_adapters_defaults", func(r *rig) {
		ep := r.a.endpoint(func(c *verbs.EndpointConfig) { c.Attributes = nil })
		r.equal("attributes", must[verbs.EndpointInfo](r, "query")(ep.Query()).Attributes, r.a.limits.Endpoint)
	}},
	{42, "nil_attributes_allow_query_status_modify_free", func(r *rig) {
		ep := r.a.endpoint(func(c *verbs.EndpointConfig) { c.Attributes = nil })
		info := must[verbs.EndpointInfo](r, "query")(ep.Query())
		r.equal("state", info.State, verbs.StateUnconnected)
		r.state(ep, verbs.StateUnconnected)
		d := info.Attributes
		r.that(d.MaxMessage > 0 && d.MaxReceives > 0 && d.MaxRequests > 0 && d.MaxReceiveSegments > 0 && d.MaxRequestSegments > 0, "defaults %+v are of no use", d)
		d.MaxReceives, d.MaxMessage = d.MaxReceives/2, d.MaxMessage/2
		r.ok("modify", ep.Modify(verbs.ParamAttributes, verbs.EndpointConfig{Attributes: &d}))
		r.equal("attributes", must[verbs.EndpointInfo](r, "query")(ep.Query()).Attributes, d)
		r.ok("free", ep.Free())
	}},
	{43, "the_passive_side_may_take_its_attributes_from_the_request", func(r *rig) {
		passive := r.p.endpoint(func(c *verbs.EndpointConfig) { c.Attributes = nil })
		l, active := r.p.listen(), r.a.endpoint()
		// In this test the consumers have a protocol of their own. The private data of the request hold
		// five values for the passive side: the ORD, the IRD, the numbers of receives and of requests,
		// and the maximum length. Each value is less than the value on which the providers would agree,
		// and less than the endpoint's present value.
		want := []byte{3, 2, 5, 6, 100}
		r.connect(active, l.Address(), &verbs.ConnParam{PrivateData: want, ResponderResources: 4, InitiatorDepth: 4})
		request := r.p.request()
		private := must[verbs.RequestInfo](r, "query")(request.Query()).Param.PrivateData
		attributes := r.p.attributes()
		attributes.ReadsOut, attributes.ReadsIn, attributes.MaxReceives = int(private[0]), int(private[1]), int(private[2])
		attributes.MaxRequests, attributes.MaxMessage, attributes.MaxRDMA = int(private[3]), int(private[4]), int(private[4])
		r.ok("modify", passive.Modify(verbs.ParamAttributes, verbs.EndpointConfig{Attributes: &attributes}))
		r.equal("attributes", must[verbs.EndpointInfo](r, "query")(passive.Query()).Attributes, attributes)
		r.ok("accept", request.Accept(passive, nil))
		m := &meeting{active: active, passive: passive}
		m.activeEvent = r.a.expect(active, verbs.EventEstablished, verbs.StateConnected)
		m.passiveEvent = r.p.expect(passive, verbs.EventEstablished, verbs.StateConnected)
		r.equal("responder resources", m.passiveEvent.ResponderResources, 2)
		r.equal("initiator depth", m.passiveEvent.InitiatorDepth, 3)
		r.equal("attributes", must[verbs.EndpointInfo](r, "query")(passive.Query()).Attributes, attributes)
		r.talk(m)
		for id := range uint64(5) {
			r.p.receive(passive, id, 0, 8)
		}
		r.is("one receive more", passive.PostReceive(&verbs.ReceiveRequest{}), verbs.ErrInsufficientResources)
		for _, op := range []verbs.Opcode{verbs.OpSend, verbs.OpWrite, verbs.OpRead} {
			w := verbs.WorkRequest{Op: op, Segments: []verbs.Segment{r.p.region.Segment(0, 101)}}
			r.is("one byte more", passive.Post(&w), verbs.ErrInvalidParameter)
		}
		remote := r.a.region.Remote(0, 8)
		read := verbs.WorkRequest{Op: verbs.OpRead, Segments: []verbs.Segment{r.p.region.Segment(0, 8)}, RemoteAddress: remote.Address, RKey: remote.RKey}
		posted, err := passive.PostList([]verbs.WorkRequest{read, read, read, read, read, read, read})
		r.is("one request more", err, verbs.ErrInsufficientResources)
		r.equal("requests", posted, 6)
	}},
	{44, "an_overflow_kills_the_queue_and_its_endpoint", func(r *rig) {
		small := r.a.queue(2)
		ep := r.a.endpoint(func(c *verbs.EndpointConfig) { c.Receives = small })
		m := r.meet(ep, r.p.endpoint(), nil, nil)
		for id := range uint64(3) {
			r.a.receive(ep, id, 0, 8)
		}
		r.ok("no overflow yet", small.Err())
		r.ok("disconnect", m.passive.Disconnect(verbs.CloseGraceful))
		r.pump("overflow", func() bool { return small.Err() != nil })
		r.is("queue", small.Err(), verbs.ErrOverflow)
		r.state(ep, verbs.StateError)
		var into [4]verbs.Completion
		r.equal("entries that had room", small.Poll(into[:]), 2)
		r.is("receive", ep.PostReceive(&verbs.ReceiveRequest{}), verbs.ErrInvalidState)
		r.is("send", ep.Post(&verbs.WorkRequest{Op: verbs.OpSend}), verbs.ErrInvalidState)
		r.ok("free", ep.Free())
	}},
	{45, "what_is_wrong_with_a_configuration", testCreateErrors},
	{46, "three_uses_of_an_endpoint", func(r *rig) {
		m := r.connected() // Connect on one side, Accept with an endpoint on the other
		r.talk(m)
		r.talk(r.reserved()) // the endpoint of a reserved service point
		l := r.p.listen()
		first, second := r.a.endpoint(), r.a.endpoint()
		r.connect(first, l.Address(), nil)
		r.ok("accept", r.p.request().Accept(r.p.endpoint(), nil))
		r.a.expect(first, verbs.EventEstablished, verbs.StateConnected)
		r.ok("dup connect", second.DupConnect(first, options(nil)))
		r.ok("accept", r.p.request().Accept(r.p.endpoint(), nil))
		r.equal("remote end", r.a.expect(second, verbs.EventEstablished, verbs.StateConnected).Remote, l.Address())
	}},
	{51, "parallel_creation_is_safe", func(r *rig) {
		var all sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			all.Go(func() {
				for range 20 {
					ep, err := r.a.adapter.NewEndpoint(r.a.config())
					if err == nil {
						err = ep.Free()
					}
					errs[i] = errors.Join(errs[i], err)
				}
			})
		}
		all.Wait()
		r.ok("create and free", errors.Join(errs...))
	}},
}

func testStreams(r *rig) {
	m := r.connected()
	r.talk(m)
	remote := r.p.region.Remote(0, 64)
	for i, op := range []verbs.Opcode{verbs.OpSend, verbs.OpWrite, verbs.OpRead} {
		id := uint64(100 + i)
		if op == verbs.OpSend {
			r.p.receive(m.passive, id, 512, 64)
		}
		r.ok("post", m.active.Post(&verbs.WorkRequest{
			ID: id, Op: op, Segments: []verbs.Segment{r.a.region.Segment(0, 64)}, RemoteAddress: remote.Address, RKey: remote.RKey,
		}))
		c := r.a.next("request", func(c *logged) bool { return c.ID == id })
		r.that(c.queue == r.a.requests && c.Stream == verbs.StreamRequest && c.Op == op && c.Length == 64, "completion %+v", c.Completion)
	}
	c := r.p.next("receive", func(c *logged) bool { return c.ID == 100 })
	r.that(c.queue == r.p.receives && c.Stream == verbs.StreamReceive && c.Op == verbs.OpReceive, "completion %+v", c.Completion)
	if !r.a.limits.MemoryWindows {
		r.is("bind", m.active.Post(&verbs.WorkRequest{Op: verbs.OpBind}), verbs.ErrModelNotSupported)
	}
	r.ok("disconnect", m.active.Disconnect(verbs.CloseGraceful))
	r.a.expect(m.active, verbs.EventDisconnected, verbs.StateDisconnected)
	r.p.expect(m.passive, verbs.EventDisconnected, verbs.StateDisconnected)
}

func testProtection(r *rig) {
	other := must[*verbs.ProtectionDomain](r, "domain")(r.a.adapter.NewProtectionDomain())
	foreign := must[*verbs.MemoryRegion](r, "register")(other.Register(make([]byte, 64), verbs.AccessLocalWrite|verbs.AccessRemoteRead|verbs.AccessRemoteWrite))
	m := r.connected()
	segments := []verbs.Segment{foreign.Segment(0, 8)}
	r.is("send", m.active.Post(&verbs.WorkRequest{Op: verbs.OpSend, Segments: segments}), verbs.ErrProtectionViolation)
	r.is("receive", m.active.PostReceive(&verbs.ReceiveRequest{Segments: segments}), verbs.ErrProtectionViolation)
	r.talk(m)
	for _, op := range []verbs.Opcode{verbs.OpWrite, verbs.OpRead} {
		m := r.connected()
		r.talk(m)
		remote := foreign.Remote(0, 8)
		r.ok("post", m.passive.Post(&verbs.WorkRequest{
			ID: 7, Op: op, Segments: []verbs.Segment{r.p.region.Segment(0, 8)}, RemoteAddress: remote.Address, RKey: remote.RKey,
		}))
		r.a.expect(m.active, verbs.EventBroken, verbs.StateDisconnected)
		r.p.expect(m.passive, verbs.EventBroken, verbs.StateDisconnected)
		if c := r.p.completion(m.passive, verbs.StreamRequest); op == verbs.OpRead {
			r.that(c.Status != verbs.StatusSuccess, "a read of foreign memory succeeded")
		}
		r.equal("foreign memory", string(foreign.Bytes()), string(make([]byte, 64)))
	}
}

func testCreateErrors(r *rig) {
	good := r.a.config()
	refuse := func(what string, want error, change func(c *verbs.EndpointConfig)) {
		r.Helper()
		c := good
		attributes := *good.Attributes
		c.Attributes = &attributes
		change(&c)
		ep, err := r.a.adapter.NewEndpoint(c)
		r.is(what, err, want)
		r.that(ep == nil, "%s: an endpoint beside the error", what)
	}
	handle, parameter, model := verbs.ErrInvalidHandle, verbs.ErrInvalidParameter, verbs.ErrModelNotSupported
	refuse("no domain", handle, func(c *verbs.EndpointConfig) { c.Domain = nil })
	refuse("foreign domain", handle, func(c *verbs.EndpointConfig) { c.Domain = r.p.domain })
	refuse("foreign queue", handle, func(c *verbs.EndpointConfig) { c.Receives = r.p.receives })
	freed := r.a.queue(1)
	r.ok("free", freed.Free())
	refuse("freed queue", handle, func(c *verbs.EndpointConfig) { c.Requests = freed })
	l := r.a.limits
	for _, bound := range []struct {
		what        string
		least, most int
		of          func(a *verbs.EndpointAttributes) *int
	}{
		{"message", 0, l.MaxMessage, func(a *verbs.EndpointAttributes) *int { return &a.MaxMessage }},
		{"RDMA", 0, l.MaxRDMA, func(a *verbs.EndpointAttributes) *int { return &a.MaxRDMA }},
		{"receives", 0, l.MaxReceives, func(a *verbs.EndpointAttributes) *int { return &a.MaxReceives }},
		{"requests", 0, l.MaxRequests, func(a *verbs.EndpointAttributes) *int { return &a.MaxRequests }},
		{"segments of a receive", 0, l.MaxSegments, func(a *verbs.EndpointAttributes) *int { return &a.MaxReceiveSegments }},
		{"segments of a request", 1, l.MaxSegments, func(a *verbs.EndpointAttributes) *int { return &a.MaxRequestSegments }},
		{"inline", 0, l.MaxInline, func(a *verbs.EndpointAttributes) *int { return &a.MaxInline }},
		{"reads in", verbs.DepthDefault, l.MaxReadsIn, func(a *verbs.EndpointAttributes) *int { return &a.ReadsIn }},
		{"reads out", verbs.DepthDefault, l.MaxReadsOut, func(a *verbs.EndpointAttributes) *int { return &a.ReadsOut }},
	} {
		for _, n := range []int{bound.least - 1, bound.most + 1} {
			refuse(fmt.Sprintf("%s %d", bound.what, n), parameter, func(c *verbs.EndpointConfig) { *bound.of(c.Attributes) = n })
		}
		for _, n := range []int{bound.least, bound.most} {
			ep := r.a.endpoint(func(c *verbs.EndpointConfig) {
				attributes := *good.Attributes
				// The test does not check these counts. They are small to save memory.
				attributes.MaxReceives, attributes.MaxRequests = 1, 1
				*bound.of(&attributes) = n
				c.Attributes = &attributes
			})
			r.ok("free", ep.Free())
		}
	}
	refuse("completion flags", parameter, func(c *verbs.EndpointConfig) { c.Attributes.ReceiveFlags = verbs.CompletionSolicitedWait + 1 })
	refuse("solicited requests", parameter, func(c *verbs.EndpointConfig) { c.Attributes.RequestFlags = verbs.CompletionSolicitedWait })
	refuse("qos", model, func(c *verbs.EndpointConfig) { c.Attributes.QoS = 77 })
	refuse("service", model, func(c *verbs.EndpointConfig) { c.Attributes.Service = 77 })
	r.a.endpoint()
}
