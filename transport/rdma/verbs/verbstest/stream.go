package verbstest

import "github.com/gorun-hpc/gorun/transport/rdma/verbs"

// streamStatements contains the statements of dat_ep_create(3DAT) on completion flags.
var streamStatements = []statement{
	{47, "flags_of_a_stream_are_equal_in_a_queue", func(r *rig) {
		q := r.a.queue(16)
		r.share(true, flags(q, nil, verbs.CompletionSolicitedWait, 0), flags(q, nil, verbs.CompletionSolicitedWait, 0))
		q = r.a.queue(16)
		r.share(false, flags(q, nil, verbs.CompletionSolicitedWait, 0), flags(q, nil, verbs.CompletionThreshold, 0))
		q = r.a.queue(16)
		r.share(false, flags(nil, q, 0, verbs.CompletionUnsignalled), flags(nil, q, 0, verbs.CompletionThreshold))
		q = r.a.queue(16)
		r.share(true, flags(nil, q, 0, verbs.CompletionUnsignalled), flags(nil, q, 0, verbs.CompletionUnsignalled))
	}},
	{48, "with_other_streams_only_the_threshold_is_valid", func(r *rig) {
		for _, f := range []verbs.CompletionFlags{verbs.CompletionUnsignalled, verbs.CompletionSolicitedWait} {
			q := r.a.queue(16)
			r.share(false, func(c *verbs.EndpointConfig) {
				flags(q, nil, f, 0)(c)
				c.Connections = q
			})
			q = r.a.queue(16)
			r.a.listen(func(o *verbs.ListenOptions) { o.Queue = q })
			r.share(false, flags(q, nil, f, 0))
			r.share(true, flags(q, q, verbs.CompletionThreshold, verbs.CompletionThreshold))
			q = r.a.queue(16)
			r.share(true, flags(q, nil, f, 0))
			_, err := r.a.adapter.Listen(verbs.ListenOptions{Queue: q})
			r.is("listen", err, verbs.ErrInvalidParameter)
		}
	}},
	{49, "unsignalled_streams_are_among_themselves", func(r *rig) {
		q := r.a.queue(16)
		r.share(true, flags(q, q, verbs.CompletionUnsignalled, verbs.CompletionUnsignalled), flags(q, q, verbs.CompletionUnsignalled, verbs.CompletionUnsignalled))
		q = r.a.queue(16)
		r.share(false, flags(q, q, verbs.CompletionThreshold, verbs.CompletionUnsignalled))
		q = r.a.queue(16)
		r.share(false, flags(q, q, verbs.CompletionUnsignalled, verbs.CompletionThreshold))
		q = r.a.queue(16)
		r.share(false, flags(nil, q, 0, verbs.CompletionUnsignalled), flags(q, nil, verbs.CompletionThreshold, 0))
	}},
	{50, "solicited_receives_have_the_queue_to_themselves", func(r *rig) {
		q := r.a.queue(16)
		r.share(false, flags(q, q, verbs.CompletionSolicitedWait, verbs.CompletionThreshold))
		q = r.a.queue(16)
		r.share(false, flags(q, nil, verbs.CompletionSolicitedWait, 0), flags(nil, q, 0, verbs.CompletionThreshold))
		q = r.a.queue(16)
		r.share(false, flags(q, nil, verbs.CompletionThreshold, 0), flags(q, nil, verbs.CompletionSolicitedWait, 0))
		// The streams of a freed endpoint must not use the queue any more.
		q = r.a.queue(16)
		ep := r.a.endpoint(flags(q, nil, verbs.CompletionSolicitedWait, 0))
		r.is("free a queue in use", q.Free(), verbs.ErrInvalidState)
		r.ok("free", ep.Free())
		r.share(true, flags(q, q, verbs.CompletionThreshold, verbs.CompletionThreshold))
	}},
}

// flags returns a function that changes a configuration. The function sets the queues and
// completion flags of receives and requests, and sets no queue for connection events.
func flags(receives, requests *verbs.CompletionQueue, ofReceives, ofRequests verbs.CompletionFlags) func(c *verbs.EndpointConfig) {
	return func(c *verbs.EndpointConfig) {
		c.Receives, c.Requests, c.Connections = receives, requests, nil
		c.Attributes.ReceiveFlags, c.Attributes.RequestFlags = ofReceives, ofRequests
	}
}

// share makes an endpoint of side a for each of the functions in changes. The argument legal says
// whether the last endpoint may share the queues of the others. If legal is false, share checks
// that both NewEndpoint and Modify refuse the last configuration.
func (r *rig) share(legal bool, changes ...func(c *verbs.EndpointConfig)) {
	r.Helper()
	for _, change := range changes[:len(changes)-1] {
		r.a.endpoint(change)
	}
	c := r.a.config()
	changes[len(changes)-1](&c)
	ep, err := r.a.adapter.NewEndpoint(c)
	if legal {
		r.ok("new endpoint", err)
		return
	}
	r.that(ep == nil, "an endpoint beside the error")
	r.is("new endpoint", err, verbs.ErrInvalidParameter)
	ep = r.a.endpoint()
	before := must[verbs.EndpointInfo](r, "query")(ep.Query())
	all := verbs.ParamReceives | verbs.ParamRequests | verbs.ParamConnections | verbs.ParamAttributes
	r.is("modify", ep.Modify(all, c), verbs.ErrInvalidParameter)
	after := must[verbs.EndpointInfo](r, "query")(ep.Query())
	r.equal("attributes", after.Attributes, before.Attributes)
	r.that(after.Config.Receives == before.Config.Receives && after.Config.Requests == before.Config.Requests, "a failed modify changed queues")
	r.ok("free", ep.Free())
}
