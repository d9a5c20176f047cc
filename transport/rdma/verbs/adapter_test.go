package verbs_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

var errBurnt = errors.New("device is burnt")

func TestFailedDeviceEndsEverything(t *testing.T) {
	p := newPlay(t, nil)
	p.connect(p.endpoint, p.actor, 1)
	idle, idler := p.make(nil)
	p.NoError(idle.PostReceive(&verbs.ReceiveRequest{ID: 1}))
	p.stage.progress = func() (int, error) { return 0, errBurnt }
	p.ErrorIs(p.queue.Wait(context.Background(), 3), errBurnt)
	p.ErrorIs(p.queue.Err(), errBurnt)
	for _, ep := range []*verbs.Endpoint{p.endpoint, idle} {
		s, err := ep.Status()
		p.NoError(err)
		p.Equal(verbs.StateError, s.State)
		p.ErrorIs(ep.Connect(remote, verbs.ConnectOptions{Timeout: 1}), verbs.ErrInvalidState)
		p.ErrorIs(ep.Disconnect(verbs.CloseAbrupt), verbs.ErrInvalidState)
		p.ErrorIs(ep.Reset(), verbs.ErrInvalidState)
		p.ErrorIs(ep.PostReceive(&verbs.ReceiveRequest{}), verbs.ErrInvalidState)
		p.NoError(ep.Free())
	}
	p.Equal(2, p.actor.closed, "aborted, then closed")
	p.Equal(2, idler.closed)
	all := p.poll()
	p.Len(all, 2)
	for _, c := range all {
		if c.Event != nil {
			p.Equal(verbs.EventBroken, c.Event.Type)
			p.ErrorIs(c.Event.Err, errBurnt)
		} else {
			p.Equal(verbs.StatusFlushed, c.Status)
		}
	}
	_, err := p.adapter.NewEndpoint(verbs.EndpointConfig{Domain: p.domain})
	p.ErrorIs(err, verbs.ErrInvalidHandle)
	_, err = p.adapter.NewCompletionQueue(1)
	p.ErrorIs(err, verbs.ErrInvalidHandle)
}

func TestOpenErrors(t *testing.T) {
	_, err := verbs.Open(nil, "")
	require.ErrorIs(t, err, verbs.ErrInvalidHandle)
	bad := newStage()
	bad.attributes.Endpoint.MaxRequests = bad.attributes.MaxRequests + 1
	_, err = verbs.Open(bad, "only")
	require.ErrorIs(t, err, verbs.ErrInvalidParameter)
}

// TestPeerThatWantsMoreReadsThanAllowed makes a peer answer with an ORD above the endpoint's IRD. A correct peer
// never sends such an answer. The test checks that the connect fails.
func TestPeerThatWantsMoreReadsThanAllowed(t *testing.T) {
	p := newPlay(t, nil)
	p.NoError(p.endpoint.Connect(remote, verbs.ConnectOptions{Timeout: verbs.TimeoutInfinite}))
	p.Equal(2, p.actor.proposal.ResponderResources)
	p.within(func() {
		p.ErrorIs(p.actor.Upcalls.Established(&provider.Proposal{InitiatorDepth: 3}, netip.AddrPort{}, remote), verbs.ErrDepthRefused)
	})
	all := p.poll()
	p.Len(all, 1)
	p.Equal(verbs.EventNonPeerRejected, all[0].Event.Type)
	p.ErrorIs(all[0].Event.Err, verbs.ErrDepthRefused)
}

// TestUnknownDepths checks that an endpoint keeps its own depths on a transport that carries no depths.
func TestUnknownDepths(t *testing.T) {
	p := newPlay(t, nil)
	p.NoError(p.endpoint.Connect(remote, verbs.ConnectOptions{Timeout: verbs.TimeoutInfinite}))
	unknown := &provider.Proposal{ResponderResources: verbs.DepthDefault, InitiatorDepth: verbs.DepthDefault}
	p.within(func() { p.NoError(p.actor.Upcalls.Established(unknown, netip.AddrPort{}, remote)) })
	all := p.poll()
	p.Equal(2, all[0].Event.InitiatorDepth)
	p.Equal(2, all[0].Event.ResponderResources)
	// The passive side also keeps its own depths. The private data that arrive are copied.
	l, err := p.adapter.Listen(verbs.ListenOptions{Queue: p.queue})
	p.NoError(err)
	h := &silentHandshake{}
	unknown.PrivateData = []byte("as it was")
	p.within(func() { p.NoError(p.stage.sinks[0].Arrived(h, l.Address(), remote, unknown)) })
	copy(unknown.PrivateData, "changed!!")
	ep, _ := p.make(nil)
	request := p.poll()[0].Event.Request
	info, err := request.Query()
	p.NoError(err)
	p.Equal("as it was", string(info.Param.PrivateData))
	p.NoError(request.Accept(ep, nil))
	p.Equal(2, h.answer.ResponderResources)
	p.Equal(2, h.answer.InitiatorDepth)
}

func TestPrivateDataOfThePeerAreCopied(t *testing.T) {
	p := newPlay(t, nil)
	rejected, other := p.make(nil)
	for _, ep := range []*verbs.Endpoint{p.endpoint, rejected} {
		p.NoError(ep.Connect(remote, verbs.ConnectOptions{Timeout: verbs.TimeoutInfinite}))
	}
	buffer := []byte("as it was")
	p.within(func() {
		p.NoError(p.actor.Upcalls.Established(&provider.Proposal{PrivateData: buffer}, netip.AddrPort{}, remote))
		other.Upcalls.Failed(provider.FailureRejected, buffer, nil)
		copy(buffer, "changed!!")
	})
	all := p.poll()
	p.Len(all, 2)
	for _, c := range all {
		p.Equal("as it was", string(c.Event.PrivateData))
	}
}

// TestPassiveFailuresAreOneEvent checks that every failure after an Accept is reported as
// EventAcceptCompletionError.
func TestPassiveFailuresAreOneEvent(t *testing.T) {
	p := newPlay(t, nil)
	l, err := p.adapter.Listen(verbs.ListenOptions{Queue: p.queue})
	p.NoError(err)
	for _, why := range []provider.Failure{provider.FailureRefused, provider.FailureRejected, provider.FailureUnreachable, provider.FailureTimedOut} {
		p.within(func() {
			p.NoError(p.stage.sinks[0].Arrived(&silentHandshake{}, l.Address(), remote, &provider.Proposal{}))
		})
		ep, a := p.make(nil)
		p.NoError(p.poll()[0].Event.Request.Accept(ep, nil))
		p.within(func() { a.Upcalls.Failed(why, nil, errBurnt) })
		p.Equal([]verbs.EventType{verbs.EventAcceptCompletionError}, p.events())
	}
}

// TestRequestWithoutRoomIsRefused checks that a connection request is refused if the listener's completion queue
// is full, and that the queue stays usable.
func TestRequestWithoutRoomIsRefused(t *testing.T) {
	p := newPlay(t, nil)
	q, err := p.adapter.NewCompletionQueue(2)
	p.NoError(err)
	l, err := p.adapter.Listen(verbs.ListenOptions{Queue: q})
	p.NoError(err)
	for n := range 3 {
		p.within(func() {
			err := p.stage.sinks[0].Arrived(&silentHandshake{}, l.Address(), remote, &provider.Proposal{})
			if n < 2 {
				p.NoError(err)
			} else {
				p.ErrorIs(err, verbs.ErrBacklogFull)
			}
		})
	}
	p.NoError(q.Err())
}

// silentHandshake is a handshake that only stores the answer.
type silentHandshake struct{ answer provider.Proposal }

func (h *silentHandshake) Accept(_ provider.QueuePair, p *provider.Proposal) { h.answer = *p }
func (h *silentHandshake) Reject([]byte)                                     {}
func (h *silentHandshake) Refuse()                                           {}

// TestProviderMayFailFromWithinConnect checks that a provider may report the failure of a connect before its
// Connect returns.
func TestProviderMayFailFromWithinConnect(t *testing.T) {
	for why, want := range map[provider.Failure]verbs.EventType{
		provider.FailureRefused: verbs.EventNonPeerRejected, provider.FailureRejected: verbs.EventPeerRejected,
		provider.FailureUnreachable: verbs.EventUnreachable, provider.FailureTimedOut: verbs.EventTimedOut,
	} {
		p := newPlay(t, nil)
		hasty := &hastyStage{stage: p.stage, why: why}
		a, err := verbs.Open(hasty, "only")
		p.NoError(err)
		t.Cleanup(func() { p.NoError(a.Close()) })
		d, err := a.NewProtectionDomain()
		p.NoError(err)
		q, err := a.NewCompletionQueue(4)
		p.NoError(err)
		ep, err := a.NewEndpoint(verbs.EndpointConfig{Domain: d, Connections: q})
		p.NoError(err)
		p.NoError(ep.Connect(remote, verbs.ConnectOptions{Timeout: 1}))
		into := make([]verbs.Completion, 4)
		p.Equal(1, q.Poll(into), "no timeout follows")
		p.Equal(want, into[0].Event.Type)
		p.ErrorIs(into[0].Event.Err, errBurnt)
		p.Zero(q.Poll(into))
	}
}

// hastyStage makes queue pairs whose Connect reports a failure before it returns.
type hastyStage struct {
	*stage
	why provider.Failure
}

// hastyActor is a queue pair of a hastyStage.
type hastyActor struct {
	*actor
	why provider.Failure
}

func (s *hastyStage) Open(_ string, a provider.Adapter) (provider.Device, error) {
	s.adapter = a
	return s, nil
}

func (s *hastyStage) NewQueuePair(c provider.QueuePairConfig) (provider.QueuePair, verbs.EndpointAttributes, error) {
	return &hastyActor{&actor{QueuePairConfig: c}, s.why}, c.Attributes, nil
}

func (a *hastyActor) Connect(netip.AddrPort, *provider.Proposal) (netip.AddrPort, error) {
	a.Upcalls.Failed(a.why, nil, errBurnt)
	return netip.AddrPort{}, nil
}

func TestDupConnectKeepsTheFlags(t *testing.T) {
	p := newPlay(t, nil)
	p.stage.attributes.Multipath = true
	a, err := verbs.Open(p.stage, "only") // Open reads the changed attributes
	p.NoError(err)
	t.Cleanup(func() { p.NoError(a.Close()) })
	p.adapter = a
	p.domain, err = a.NewProtectionDomain()
	p.NoError(err)
	p.queue, err = a.NewCompletionQueue(16)
	p.NoError(err)
	first, actor := p.make(nil)
	p.NoError(first.Connect(remote, verbs.ConnectOptions{Timeout: verbs.TimeoutInfinite, Flags: verbs.ConnectMultipath | 2}))
	p.True(actor.proposal.Multipath)
	p.within(func() { p.NoError(actor.Upcalls.Established(&provider.Proposal{}, netip.AddrPort{}, remote)) })
	second, actor := p.make(nil)
	p.NoError(second.DupConnect(first, verbs.ConnectOptions{Timeout: verbs.TimeoutInfinite}))
	p.True(actor.proposal.Multipath)
	info, err := second.Query()
	p.NoError(err)
	p.Equal(remote, info.Remote)
}

// TestGracefulDisconnectWaitsForTheSendQueue checks that the endpoint calls the provider's Disconnect only once,
// and only after all posted work requests are complete.
func TestGracefulDisconnectWaitsForTheSendQueue(t *testing.T) {
	p := newPlay(t, nil)
	p.connect(p.endpoint, p.actor, 1)
	p.NoError(p.endpoint.Post(&verbs.WorkRequest{Op: verbs.OpSend}))
	p.NoError(p.endpoint.Post(&verbs.WorkRequest{Op: verbs.OpSend}))
	p.NoError(p.endpoint.Disconnect(verbs.CloseGraceful))
	for n := range 2 {
		p.Zero(p.actor.disconnected, "%d of 2 requests are done", n)
		p.within(func() { p.actor.Sends.Done(p.actor.Sends.Next()) })
	}
	p.Equal(1, p.actor.disconnected)
	p.NoError(p.endpoint.Disconnect(verbs.CloseGraceful))
	p.Equal(1, p.actor.disconnected)
	p.within(p.actor.Upcalls.Disconnected)
	all := p.poll()
	p.Len(all, 3)
	p.Equal(verbs.EventDisconnected, all[2].Event.Type)
}

// TestNothingIsMadeOnAFailedAdapter checks that no object can be made on an adapter that has failed.
func TestNothingIsMadeOnAFailedAdapter(t *testing.T) {
	p := newPlay(t, nil)
	p.stage.progress = func() (int, error) { return 0, errors.New("the device has failed") }
	p.adapter.Progress()
	p.stage.progress = nil
	_, domain := p.adapter.NewProtectionDomain()
	_, queue := p.adapter.NewCompletionQueue(1)
	_, shared := p.adapter.NewSharedReceiveQueue(verbs.SharedReceiveConfig{Domain: p.domain, MaxReceives: 1, MaxSegments: 1})
	_, endpoint := p.adapter.NewEndpoint(verbs.EndpointConfig{Domain: p.domain})
	_, listener := p.adapter.Listen(verbs.ListenOptions{Queue: p.queue})
	for _, err := range []error{domain, queue, shared, endpoint, listener, p.adapter.Watch(p.queue)} {
		p.ErrorIs(err, verbs.ErrInvalidHandle)
	}
}
