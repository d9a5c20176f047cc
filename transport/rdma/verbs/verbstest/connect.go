package verbstest

import (
	"net/netip"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// connectStatements contains the statements of dat_ep_connect(3DAT) about parameters and errors.
var connectStatements = []statement{
	{1, "the_peer_is_address_and_qualifier", testPeerIsAddressAndQualifier},
	{2, "success_is_pending_at_once", func(r *rig) {
		l, ep := r.p.listen(), r.a.endpoint()
		r.connect(ep, l.Address(), nil)
		r.state(ep, verbs.StateActiveConnectionPending)
		r.that(r.a.connections.Len() == 0, "an event came before anybody polled")
	}},
	{3, "the_local_port_is_seen_by_the_peer", func(r *rig) {
		l, ep := r.p.listen(), r.a.endpoint()
		r.connect(ep, l.Address(), nil)
		local := must[verbs.EndpointInfo](r, "query")(ep.Query()).Local
		info := must[verbs.RequestInfo](r, "query")(r.p.request().Query())
		r.that(local.IsValid() && local.Port() != 0, "local end %v has no port", local)
		r.equal("port qualifier", info.Remote, local)
	}},
	{4, "private_data_arrive_byte_exact", testPrivateDataArrive},
	{5, "private_data_may_be_nil_or_empty_not_too_long", func(r *rig) {
		l := r.p.listen()
		for _, private := range [][]byte{nil, {}} {
			ep := r.a.endpoint()
			r.connect(ep, l.Address(), data(private))
			info := must[verbs.RequestInfo](r, "query")(r.p.request().Query())
			r.sameData(r.p, info.Param.PrivateData, nil)
		}
		r.connect(r.a.endpoint(), l.Address(), data(make([]byte, r.a.limits.MaxRequestData)))
		r.p.request()
		// The manual page also defines an error for a negative size of the private data. A slice
		// cannot have a negative size, so the test checks only a size beyond the limit.
		ep := r.a.endpoint()
		r.is("too long", ep.Connect(l.Address(), options(data(make([]byte, r.a.limits.MaxRequestData+1)))), verbs.ErrInvalidParameter)
		r.state(ep, verbs.StateUnconnected)
	}},
	{6, "a_timeout_is_positive", func(r *rig) {
		l, ep := r.p.listen(), r.a.endpoint()
		for _, timeout := range []time.Duration{0, -1, -time.Hour} {
			r.is(timeout.String(), ep.Connect(l.Address(), verbs.ConnectOptions{Timeout: timeout}), verbs.ErrInvalidParameter)
			r.state(ep, verbs.StateUnconnected)
		}
		r.connect(ep, l.Address(), nil)
		request := r.p.request()
		r.quiet()
		r.state(ep, verbs.StateActiveConnectionPending)
		r.ok("accept", request.Accept(r.p.endpoint(), nil))
		r.a.expect(ep, verbs.EventEstablished, verbs.StateConnected)
		r.bubble(testTimeouts)
	}},
	{7, "a_local_qos_is_listed_or_not_supported", testLocalQoS},
	{15, "an_unusable_address_fails_at_once", func(r *rig) {
		ep := r.a.endpoint()
		port := r.p.listen().Address().Port()
		for _, remote := range []netip.AddrPort{
			{},
			netip.AddrPortFrom(netip.IPv4Unspecified(), port), netip.AddrPortFrom(netip.IPv6Unspecified(), port),
			netip.AddrPortFrom(netip.MustParseAddr("224.0.0.1"), port), netip.AddrPortFrom(netip.MustParseAddr("ff02::1"), port),
			netip.AddrPortFrom(r.p.listen().Address().Addr(), 0),
		} {
			r.is(remote.String(), ep.Connect(remote, options(nil)), verbs.ErrInvalidAddress)
			r.state(ep, verbs.StateUnconnected)
		}
	}},
	{16, "resources_parameters_and_handles", testConnectErrors},
	{17, "only_an_unconnected_endpoint_connects", func(r *rig) {
		l, ep := r.p.listen(), r.a.endpoint()
		again := func() {
			r.Helper()
			r.is("connect again", ep.Connect(l.Address(), options(nil)), verbs.ErrInvalidState)
		}
		r.connect(ep, l.Address(), nil)
		again()
		r.state(ep, verbs.StateActiveConnectionPending)
		r.ok("accept", r.p.request().Accept(r.p.endpoint(), nil))
		r.a.expect(ep, verbs.EventEstablished, verbs.StateConnected)
		again()
		r.state(ep, verbs.StateConnected)
		r.ok("disconnect", ep.Disconnect(verbs.CloseAbrupt))
		r.a.expect(ep, verbs.EventDisconnected, verbs.StateDisconnected)
		again()
		r.state(ep, verbs.StateDisconnected)
	}},
	{18, "multipath_is_the_lowest_bit_alone", func(r *rig) {
		l := r.p.listen()
		r.equal("default flags", verbs.ConnectDefault, verbs.ConnectFlags(0))
		for _, flags := range []verbs.ConnectFlags{0, 2, 0xFFFFFFFE, 1, 3, 0xFFFFFFFF} {
			ep := r.a.endpoint()
			o := options(nil)
			o.Flags = flags
			err := ep.Connect(l.Address(), o)
			if flags&1 != 0 && !r.a.limits.Multipath {
				r.is("multipath", err, verbs.ErrModelNotSupported)
				r.state(ep, verbs.StateUnconnected)
				continue
			}
			r.ok("connect", err)
			r.p.request()
		}
		// Only the lowest bit of the flags selects multipath. The test needs an adapter with several
		// paths and an adapter with a single path.
		scene, ok := r.harness.Inject(r, FaultMultipath)
		if !ok {
			return
		}
		several := r.wrap(scene.Adapter)
		r.that(several.limits.Multipath && !r.p.limits.Multipath, "no adapter has several paths, or all have")
		for _, flags := range []verbs.ConnectFlags{0, 2, 0xFFFFFFFE, 1, 3, 0xFFFFFFFF} {
			for _, passive := range []*side{several, r.p} {
				ep, l := several.endpoint(), passive.listen()
				o := options(nil)
				o.Flags = flags
				r.ok("connect", ep.Connect(l.Address(), o))
				if flags&1 != 0 && passive == r.p {
					several.expect(ep, verbs.EventNonPeerRejected, verbs.StateDisconnected)
				} else {
					r.ok("accept", passive.request().Accept(passive.endpoint(), nil))
					several.expect(ep, verbs.EventEstablished, verbs.StateConnected)
				}
			}
		}
	}},
}

func testPeerIsAddressAndQualifier(r *rig) {
	first, second := r.p.listen(), r.p.listen()
	r.that(first.Address() != second.Address(), "two listeners at %v", first.Address())
	for _, l := range []*verbs.Listener{second, first} {
		private := []byte(l.Address().String())
		o := verbs.ConnectOptions{Timeout: time.Hour, Param: data(private), QoS: verbs.QoSBestEffort, Flags: verbs.ConnectDefault}
		r.ok("connect", r.a.endpoint().Connect(l.Address(), o))
		info := must[verbs.RequestInfo](r, "query")(r.p.request().Query())
		r.equal("qualifier", info.Local, l.Address())
		r.equal("qos", info.QoS, verbs.QoSBestEffort)
		r.sameData(r.p, info.Param.PrivateData, private)
	}
}

// testTimeouts checks that a finite timeout expires at its time and not before. It also checks that
// an infinite timeout does not expire in 20 years of virtual time.
func testTimeouts(r *rig) {
	l := r.p.listen()
	finite, infinite := r.a.endpoint(), r.a.endpoint()
	r.ok("connect", finite.Connect(l.Address(), verbs.ConnectOptions{Timeout: time.Hour}))
	r.p.request()
	r.connect(infinite, l.Address(), nil)
	request := r.p.request()
	time.Sleep(59 * time.Minute)
	r.quiet()
	r.state(finite, verbs.StateActiveConnectionPending)
	time.Sleep(time.Minute)
	r.a.expect(finite, verbs.EventTimedOut, verbs.StateDisconnected)
	time.Sleep(20 * 365 * 24 * time.Hour)
	r.quiet()
	r.equal("events of the infinite one", len(r.a.log), 0)
	r.state(infinite, verbs.StateActiveConnectionPending)
	r.ok("accept", request.Accept(r.p.endpoint(), nil))
	r.a.expect(infinite, verbs.EventEstablished, verbs.StateConnected)
}

func testPrivateDataArrive(r *rig) {
	l := r.p.listen()
	requestMax, acceptMax, rejectMax := r.a.limits.MaxRequestData, r.p.limits.MaxAcceptData, r.p.limits.MaxRejectData
	for i, n := range []int{1, 2, 3, 31, 55, 56, 57, 147, 148, 149, 195, 196, 197, 255, 256, acceptMax, rejectMax, requestMax} {
		private := pattern(byte(i), n)
		private[n-1] |= 1 // the last byte is not 0, so that it cannot be taken for padding
		cut := func(most int) []byte {
			if n <= most {
				return private
			}
			return pattern(byte(i)|1, most) // the last byte may be 0: data of maximum length have no padding
		}
		asked, accepted, rejected := cut(requestMax), cut(acceptMax), cut(rejectMax)
		ep := r.a.endpoint()
		r.connect(ep, l.Address(), data(asked))
		request := r.p.request()
		info := must[verbs.RequestInfo](r, "query")(request.Query())
		r.sameData(r.p, info.Param.PrivateData, asked)
		// The consumer must not see the data that providers exchange in addition to the private
		// data.
		r.ok("accept", request.Accept(r.p.endpoint(), data(accepted)))
		r.sameData(r.a, r.a.expect(ep, verbs.EventEstablished, verbs.StateConnected).PrivateData, accepted)
		ep = r.a.endpoint()
		r.connect(ep, l.Address(), nil)
		r.ok("reject", r.p.request().Reject(rejected))
		r.sameData(r.a, r.a.expect(ep, verbs.EventPeerRejected, verbs.StateDisconnected).PrivateData, rejected)
	}
}

func testLocalQoS(r *rig) {
	l := r.p.listen()
	listed := map[verbs.QoS]bool{}
	for _, q := range r.a.limits.QoS {
		listed[q] = true
	}
	r.that(listed[verbs.QoSBestEffort], "best effort is not listed")
	for _, q := range []verbs.QoS{verbs.QoSBestEffort, verbs.QoSHighThroughput, verbs.QoSLowLatency, verbs.QoSEconomy, verbs.QoSPremium, 77} {
		ep := r.a.endpoint()
		o := options(nil)
		o.QoS = q
		err := ep.Connect(l.Address(), o)
		if !listed[q] {
			r.is("qos", err, verbs.ErrModelNotSupported)
			r.state(ep, verbs.StateUnconnected)
			r.connect(ep, l.Address(), nil) // the endpoint can still be used
			r.p.request()
			continue
		}
		r.ok("connect", err)
		r.equal("qos", must[verbs.RequestInfo](r, "query")(r.p.request().Query()).QoS, q)
	}
}

func testConnectErrors(r *rig) {
	to := r.p.listen().Address()
	var none *verbs.Endpoint
	r.is("nil endpoint", none.Connect(to, options(nil)), verbs.ErrInvalidHandle)
	freed := r.a.endpoint()
	r.ok("free", freed.Free())
	r.is("freed endpoint", freed.Connect(to, options(nil)), verbs.ErrInvalidHandle)
	ep := r.a.endpoint()
	for what, p := range map[string]*verbs.ConnParam{
		"private data": data(make([]byte, r.a.limits.MaxRequestData+1)),
		"depth in":     param(r.a.limits.MaxReadsIn+1, 0), "depth out": param(0, r.a.limits.MaxReadsOut+1),
		"negative in": param(-2, 0), "negative out": param(0, -2),
	} {
		r.is(what, ep.Connect(to, options(p)), verbs.ErrInvalidParameter)
		r.state(ep, verbs.StateUnconnected)
	}
	_, err := r.a.adapter.NewCompletionQueue(r.a.limits.MaxCompletions + 1)
	r.is("more than the adapter has", err, verbs.ErrInsufficientResources)
	other := r.p.listen()
	_, err = r.p.adapter.Listen(verbs.ListenOptions{Queue: r.p.connections, Address: other.Address()})
	r.is("address taken", err, verbs.ErrInsufficientResources)
	r.connect(ep, to, nil)
}
