package verbstest

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// cmAcceptStatements contains the statements of rdma_accept(3).
var cmAcceptStatements = []statement{
	{64, "accept_is_on_the_request_and_its_adapter", func(r *rig) {
		l := r.p.listen()
		first, second := r.a.endpoint(), r.a.endpoint()
		r.connect(first, l.Address(), nil)
		one := r.p.request()
		r.connect(second, l.Address(), nil)
		two := r.p.request()
		r.that(one != two, "two connections, one request")
		elsewhere := r.side()
		r.is("endpoint of another adapter", one.Accept(elsewhere.endpoint(), nil), verbs.ErrInvalidHandle)
		// The requests stay valid after their listener is closed.
		r.ok("close", l.Close())
		r.ok("accept", two.Accept(r.p.endpoint(), nil))
		r.a.expect(second, verbs.EventEstablished, verbs.StateConnected)
		r.state(first, verbs.StateActiveConnectionPending)
		r.ok("accept", one.Accept(r.p.endpoint(), nil))
		r.a.expect(first, verbs.EventEstablished, verbs.StateConnected)
	}},
	{65, "the_values_of_the_request_can_be_given_back", func(r *rig) {
		l, ep, passive := r.p.listen(), r.a.endpoint(), r.p.endpoint()
		p := param(3, 2)
		p.PrivateData = []byte("hello")
		r.connect(ep, l.Address(), p)
		request := r.p.request()
		info := must[verbs.RequestInfo](r, "query")(request.Query())
		r.quiet() // the values must stay valid while the request waits for its answer
		info.Param.PrivateData = info.Param.PrivateData[:min(len(info.Param.PrivateData), r.p.limits.MaxAcceptData)]
		r.ok("accept", request.Accept(passive, &info.Param))
		e := r.a.expect(ep, verbs.EventEstablished, verbs.StateConnected)
		r.equal("depths", fmt.Sprint(e.ResponderResources, e.InitiatorDepth), "3 2")
		r.equal("private data", string(e.PrivateData[:5]), "hello")
		e = r.p.expect(passive, verbs.EventEstablished, verbs.StateConnected)
		r.equal("depths of the passive side", fmt.Sprint(e.ResponderResources, e.InitiatorDepth), "2 3")
	}},
	{66, "nil_takes_the_values_adjusted_down", func(r *rig) {
		m := r.meet(r.a.endpoint(), r.p.endpoint(), param(3, 2), nil)
		r.equal("depths", fmt.Sprint(m.passiveEvent.ResponderResources, m.passiveEvent.InitiatorDepth), "2 3")
		narrow := r.p.endpoint(func(c *verbs.EndpointConfig) { c.Attributes.ReadsIn, c.Attributes.ReadsOut = 1, 2 })
		m = r.meet(r.a.endpoint(), narrow, param(3, 2), nil)
		r.equal("depths", fmt.Sprint(m.passiveEvent.ResponderResources, m.passiveEvent.InitiatorDepth), "1 2")
		r.equal("active depths", fmt.Sprint(m.activeEvent.ResponderResources, m.activeEvent.InitiatorDepth), "3 1")
		wide := func(c *verbs.EndpointConfig) {
			c.Attributes.ReadsIn, c.Attributes.ReadsOut = verbs.DepthDefault, verbs.DepthDefault
		}
		most := param(r.a.limits.MaxReadsIn, r.a.limits.MaxReadsOut)
		m = r.meet(r.a.endpoint(wide), r.p.endpoint(wide), most, nil)
		r.equal("responder resources", m.passiveEvent.ResponderResources, min(r.a.limits.MaxReadsOut, r.p.limits.MaxReadsIn))
		r.equal("initiator depth", m.passiveEvent.InitiatorDepth, min(r.a.limits.MaxReadsIn, r.p.limits.MaxReadsOut))
		if !r.a.limits.WaitsForReceive {
			return
		}
		r.bubble(func(r *rig) { // if the parameters are nil, Accept also takes the RNR retry count of the request
			ask := param(1, 1)
			ask.RNRRetryCount = 3
			m := r.meet(r.a.endpoint(), r.p.endpoint(), ask, nil)
			start := time.Now()
			r.a.send(m.active, 1, 0, 8)
			r.a.done(m.active, verbs.StreamRequest, 1, verbs.StatusReceiverNotReady)
			r.equal("retries", int(time.Since(start)/r.a.limits.MinRNRTimer), 3)
		})
	}},
	{67, "responder_resources_are_within_the_adapter", func(r *rig) {
		l, ep := r.p.listen(), r.a.endpoint()
		r.connect(ep, l.Address(), param(0, 3))
		request, passive := r.p.request(), r.p.endpoint()
		r.is("beyond the adapter", request.Accept(passive, param(r.p.limits.MaxReadsIn+1, 0)), verbs.ErrInvalidParameter)
		r.ok("fewer than asked", request.Accept(passive, param(2, 0)))
		r.equal("initiator depth", r.a.expect(ep, verbs.EventEstablished, verbs.StateConnected).InitiatorDepth, 2)
		r.equal("responder resources", r.p.expect(passive, verbs.EventEstablished, verbs.StateConnected).ResponderResources, 2)
		ep, passive = r.a.endpoint(), r.p.endpoint()
		r.connect(ep, l.Address(), param(0, 3))
		r.ok("at the limit", r.p.request().Accept(passive, param(r.p.limits.MaxReadsIn, 0)))
		r.equal("initiator depth", r.a.expect(ep, verbs.EventEstablished, verbs.StateConnected).InitiatorDepth, 3)
		r.equal("what the peer can use", r.p.expect(passive, verbs.EventEstablished, verbs.StateConnected).ResponderResources, 3)
	}},
	{68, "initiator_depth_is_within_adapter_and_request", func(r *rig) {
		l, ep := r.p.listen(), r.a.endpoint()
		r.connect(ep, l.Address(), param(3, 0))
		request, passive := r.p.request(), r.p.endpoint()
		r.is("beyond the adapter", request.Accept(passive, param(0, r.p.limits.MaxReadsOut+1)), verbs.ErrInvalidParameter)
		r.is("beyond the request", request.Accept(passive, param(0, 4)), verbs.ErrInvalidParameter)
		r.ok("as requested", request.Accept(passive, param(0, 3)))
		r.a.expect(ep, verbs.EventEstablished, verbs.StateConnected)
		r.equal("initiator depth", r.p.expect(passive, verbs.EventEstablished, verbs.StateConnected).InitiatorDepth, 3)
		ep, passive = r.a.endpoint(), r.p.endpoint()
		r.connect(ep, l.Address(), param(r.a.limits.MaxReadsIn, 0))
		request = r.p.request()
		r.is("beyond the adapter, not the request", request.Accept(passive, param(0, r.p.limits.MaxReadsOut+1)), verbs.ErrInvalidParameter)
		most := min(r.a.limits.MaxReadsIn, r.p.limits.MaxReadsOut)
		r.ok("at the limit", request.Accept(passive, param(0, most)))
		r.a.expect(ep, verbs.EventEstablished, verbs.StateConnected)
		r.equal("initiator depth", r.p.expect(passive, verbs.EventEstablished, verbs.StateConnected).InitiatorDepth, most)
	}},
	{69, "accept_ignores_the_retry_count_and_more", func(r *rig) {
		l, ep, passive := r.p.listen(), r.a.endpoint(), r.p.endpoint()
		r.connect(ep, l.Address(), param(1, 1))
		request := r.p.request()
		for _, n := range []uint8{8, 255} {
			r.is("rnr retry count", request.Accept(passive, &verbs.ConnParam{RNRRetryCount: n}), verbs.ErrInvalidParameter)
		}
		r.ok("accept", request.Accept(passive, &verbs.ConnParam{RetryCount: 255, RNRRetryCount: 7, FlowControl: true, SRQ: true, QPNum: 1, ResponderResources: 1, InitiatorDepth: 1}))
		r.a.expect(ep, verbs.EventEstablished, verbs.StateConnected)
		r.p.expect(passive, verbs.EventEstablished, verbs.StateConnected)
		r.talk(&meeting{active: ep, passive: passive})
	}},
	{70, "private_data_limits", func(r *rig) {
		limits := r.p.limits
		r.that(limits.MaxRequestData >= 56 && limits.MaxAcceptData >= 196 && limits.MaxRejectData >= 148, "limits %d, %d, %d below InfiniBand's",
			limits.MaxRequestData, limits.MaxAcceptData, limits.MaxRejectData)
		private := pattern(7, limits.MaxAcceptData+1)
		private[limits.MaxAcceptData-1] |= 1
		l, ep, passive := r.p.listen(), r.a.endpoint(), r.p.endpoint()
		r.connect(ep, l.Address(), nil)
		request := r.p.request()
		r.is("one byte more", request.Accept(passive, data(private)), verbs.ErrInvalidParameter)
		private = private[:limits.MaxAcceptData]
		r.ok("at the limit", request.Accept(passive, data(private)))
		r.sameData(r.a, r.a.expect(ep, verbs.EventEstablished, verbs.StateConnected).PrivateData, private)
		ep = r.a.endpoint()
		r.connect(ep, l.Address(), nil)
		request = r.p.request()
		r.is("one byte more", request.Reject(make([]byte, limits.MaxRejectData+1)), verbs.ErrInvalidParameter)
		private = pattern(8, limits.MaxRejectData)
		private[limits.MaxRejectData-1] |= 1
		r.ok("at the limit", request.Reject(private))
		r.sameData(r.a, r.a.expect(ep, verbs.EventPeerRejected, verbs.StateDisconnected).PrivateData, private)
	}},
	{71, "datagram_lookups_are_not_accepted_either", func(r *rig) {
		// No service point supports the datagram service. A refused Listen has no effect.
		taken := r.p.listen()
		ep := r.p.endpoint()
		for _, other := range []verbs.Service{verbs.ServiceDatagram, verbs.ServiceDatagram + 1} {
			for _, at := range []netip.AddrPort{{}, taken.Address()} {
				l, err := r.p.adapter.Listen(verbs.ListenOptions{Queue: r.p.connections, Service: other, Address: at, Endpoint: ep})
				r.is("listen", err, verbs.ErrModelNotSupported)
				r.that(l == nil, "a listener beside the error")
				r.state(ep, verbs.StateUnconnected)
			}
		}
		// An accepting endpoint cannot get the datagram service, either before or after a
		// request has arrived.
		datagrams := r.p.attributes()
		datagrams.Service = verbs.ServiceDatagram
		lookup := verbs.EndpointConfig{Attributes: &datagrams}
		active := r.a.endpoint()
		r.is("modify", ep.Modify(verbs.ParamAttributes, lookup), verbs.ErrModelNotSupported)
		reserved := r.p.listen(func(o *verbs.ListenOptions) { o.Endpoint = ep })
		r.is("modify", ep.Modify(verbs.ParamAttributes, lookup), verbs.ErrModelNotSupported)
		r.connect(active, reserved.Address(), nil)
		request := r.p.request()
		r.is("modify", ep.Modify(verbs.ParamAttributes, lookup), verbs.ErrModelNotSupported)
		r.ok("accept", request.Accept(nil, nil))
		r.a.expect(active, verbs.EventEstablished, verbs.StateConnected)
		r.p.expect(ep, verbs.EventEstablished, verbs.StateConnected)
		r.talk(&meeting{active: active, passive: ep})
	}},
}
