package verbs_test

import (
	"testing"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// TestEndpointsHaveWhatIsGranted checks that an endpoint has the attributes that the provider grants. If the
// provider grants more than the consumer has requested, the endpoint has the requested attributes.
func TestEndpointsHaveWhatIsGranted(t *testing.T) {
	p := newPlay(t, nil)
	asked := p.stage.attributes.Endpoint
	asked.MaxInline = 8
	for name, c := range map[string]struct {
		grants func(a *verbs.EndpointAttributes)
		want   func(a *verbs.EndpointAttributes)
	}{
		"all": {func(*verbs.EndpointAttributes) {}, func(*verbs.EndpointAttributes) {}},
		"less": {
			func(a *verbs.EndpointAttributes) {
				a.MaxRequests, a.MaxReceives, a.MaxRequestSegments, a.MaxReceiveSegments, a.MaxInline, a.ReadsIn, a.ReadsOut = 3, 2, 1, 1, 4, 1, 0
			},
			func(a *verbs.EndpointAttributes) {
				a.MaxRequests, a.MaxReceives, a.MaxRequestSegments, a.MaxReceiveSegments, a.MaxInline, a.ReadsIn, a.ReadsOut = 3, 2, 1, 1, 4, 1, 0
			},
		},
		"more": {
			func(a *verbs.EndpointAttributes) {
				a.MaxRequests, a.MaxReceives, a.MaxRequestSegments, a.MaxReceiveSegments, a.MaxInline, a.ReadsIn, a.ReadsOut = 64, 64, 9, 9, 99, 9, 9
			},
			func(*verbs.EndpointAttributes) {},
		},
		"the provider's choice": {
			func(a *verbs.EndpointAttributes) { a.ReadsIn, a.ReadsOut = verbs.DepthDefault, verbs.DepthDefault },
			func(*verbs.EndpointAttributes) {},
		},
		"lengths are not granted": {
			func(a *verbs.EndpointAttributes) { a.MaxMessage, a.MaxRDMA = 1, 1 }, func(*verbs.EndpointAttributes) {},
		},
	} {
		p.stage.grants = c.grants
		ep, _ := p.make(func(e *verbs.EndpointConfig) { *e.Attributes = asked })
		info, err := ep.Query()
		p.NoError(err)
		want := asked
		c.want(&want)
		p.Equal(want, info.Attributes, name)
	}
	p.stage.grants = func(a *verbs.EndpointAttributes) { a.ReadsIn, a.ReadsOut = 1, 2 }
	ep, _ := p.make(func(e *verbs.EndpointConfig) {
		e.Attributes.ReadsIn, e.Attributes.ReadsOut = verbs.DepthDefault, verbs.DepthDefault
	})
	info, err := ep.Query()
	p.NoError(err)
	p.Equal([2]int{1, 2}, [2]int{info.Attributes.ReadsIn, info.Attributes.ReadsOut})
}

// TestGrantedQueuesAreFull checks that the queues of an endpoint are full when as many requests are posted as
// were granted.
func TestGrantedQueuesAreFull(t *testing.T) {
	p := newPlay(t, nil)
	p.stage.grants = func(a *verbs.EndpointAttributes) { a.MaxRequests, a.MaxReceives = 3, 2 }
	ep, a := p.make(nil)
	p.connect(ep, a, 1)
	for i := range 3 {
		p.NoError(ep.Post(&verbs.WorkRequest{Op: verbs.OpSend}), i)
	}
	p.ErrorIs(ep.Post(&verbs.WorkRequest{Op: verbs.OpSend}), verbs.ErrInsufficientResources)
	for i := range 2 {
		p.NoError(ep.PostReceive(&verbs.ReceiveRequest{}), i)
	}
	p.ErrorIs(ep.PostReceive(&verbs.ReceiveRequest{}), verbs.ErrInsufficientResources)
}

// TestReceivesMoveToTheNextQueuePair makes Modify replace the queue pair of an endpoint that has posted
// receives. The test checks that the receives stay posted and that the new queue pair is told of them. It
// also checks that Modify fails and changes nothing if the provider grants the new queue pair too few
// receives.
func TestReceivesMoveToTheNextQueuePair(t *testing.T) {
	p := newPlay(t, nil)
	for id := range uint64(3) {
		p.NoError(p.endpoint.PostReceive(&verbs.ReceiveRequest{ID: id, Segments: []verbs.Segment{p.region.Segment(int(id), 8)}}))
	}
	p.Equal(3, p.actor.receives)
	for range 3 {
		p.NotNil(p.actor.Receives.Next()) // an adapter that posts receives in advance does the same
	}
	attributes := p.stage.attributes.Endpoint
	attributes.MaxReceives = 4
	p.stage.grants = func(a *verbs.EndpointAttributes) { a.MaxReceives = 2 }
	p.ErrorIs(p.endpoint.Modify(verbs.ParamAttributes, verbs.EndpointConfig{Attributes: &attributes}), verbs.ErrInsufficientResources)
	p.Equal(1, p.stage.pairs[len(p.stage.pairs)-1].closed, "what is of no use is closed")
	p.Zero(p.actor.closed)
	p.stage.grants = nil
	p.NoError(p.endpoint.Modify(verbs.ParamAttributes, verbs.EndpointConfig{Attributes: &attributes}))
	next := p.stage.pairs[len(p.stage.pairs)-1]
	p.Equal(1, p.actor.closed)
	p.Equal(1, next.receives)
	p.connect(p.endpoint, next, 1)
	p.within(func() {
		for id := range uint64(3) {
			r := next.Receives.Next()
			p.Equal(id, r.Number)
			p.Same(r, next.Receives.At(id))
			next.Receives.Done(r, provider.Arrival{})
		}
		p.Nil(next.Receives.Next())
	})
	p.Equal([]outcome{{0, 0}, {1, 0}, {2, 0}}, outcomes(p.poll()))
}
