package verbs_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// TestPeerServesFewerReads checks two limits of the number of outstanding Reads of an endpoint: the number that
// the peer serves, and the number that the consumer has requested.
func TestPeerServesFewerReads(t *testing.T) {
	const asked = 2
	for serves, want := range map[int]int{0: 0, 1: 1, asked: asked, asked + 1: asked, verbs.DepthDefault: asked} {
		p := newPlay(t, nil)
		p.NoError(p.endpoint.Connect(remote, verbs.ConnectOptions{
			Timeout: verbs.TimeoutInfinite, Param: &verbs.ConnParam{ResponderResources: 2, InitiatorDepth: asked},
		}))
		p.within(func() {
			p.NoError(p.actor.Upcalls.Established(&provider.Proposal{ResponderResources: serves}, netip.AddrPort{}, remote))
		})
		p.Equal(want, p.poll()[0].Event.InitiatorDepth)
		if want == 0 {
			p.ErrorIs(p.endpoint.Post(&verbs.WorkRequest{Op: verbs.OpRead}), verbs.ErrModelNotSupported)
			continue
		}
		for range asked + 2 {
			p.NoError(p.endpoint.Post(&verbs.WorkRequest{Op: verbs.OpRead}))
		}
		p.within(func() {
			for range want {
				p.NotNil(p.actor.Sends.Next())
			}
			p.Nil(p.actor.Sends.Next(), "the peer serves %d", serves)
		})
	}
}

// TestPeerIsGrantedWhatItMayHave checks that an Accept grants the peer the number of Reads that the peer has
// requested, but not more than the endpoint serves.
func TestPeerIsGrantedWhatItMayHave(t *testing.T) {
	const served = 2
	p := newPlay(t, nil)
	l, err := p.adapter.Listen(verbs.ListenOptions{Queue: p.queue})
	p.NoError(err)
	for wants, want := range map[int]int{0: 0, 1: 1, served: served, served + 1: served, 100: served} {
		h := &silentHandshake{}
		p.within(func() {
			p.NoError(p.stage.sinks[0].Arrived(h, l.Address(), remote, &provider.Proposal{InitiatorDepth: wants, ResponderResources: wants}))
		})
		ep, _ := p.make(nil)
		p.NoError(p.poll()[0].Event.Request.Accept(ep, nil))
		p.Equal(want, h.answer.ResponderResources, "the peer wants %d", wants)
		p.Equal(want, h.answer.InitiatorDepth, "the peer serves %d", wants)
	}
}

// TestExplicitDepthIsLoweredToThePeers accepts a request with a larger depth than the peer has requested. The
// test checks that the provider answers with the peer's depth, and that the event and Query report the same
// depth.
func TestExplicitDepthIsLoweredToThePeers(t *testing.T) {
	p := newPlay(t, nil)
	l, err := p.adapter.Listen(verbs.ListenOptions{Queue: p.queue})
	p.NoError(err)
	for wants, want := range map[int]int{0: 0, 3: 3, 4: 4, 5: 4, verbs.DepthDefault: 4} {
		h := &silentHandshake{}
		p.within(func() {
			p.NoError(p.stage.sinks[0].Arrived(h, l.Address(), remote, &provider.Proposal{InitiatorDepth: wants, ResponderResources: 1}))
		})
		ep, actor := p.make(nil)
		p.NoError(p.poll()[0].Event.Request.Accept(ep, &verbs.ConnParam{ResponderResources: 4, InitiatorDepth: 1}))
		p.Equal(want, h.answer.ResponderResources, "the peer wants %d", wants)
		p.within(func() { p.NoError(actor.Upcalls.Established(nil, netip.AddrPort{}, remote)) })
		p.Equal(want, p.poll()[0].Event.ResponderResources)
		info, err := ep.Query()
		p.NoError(err)
		p.Equal(want, info.Attributes.ReadsIn)
	}
}

// TestConnectAgainNeedsReset checks that an endpoint that has been connected can connect again only after Reset.
func TestConnectAgainNeedsReset(t *testing.T) {
	p := newPlay(t, nil)
	again := func() error {
		return p.endpoint.Connect(remote, verbs.ConnectOptions{Timeout: verbs.TimeoutInfinite})
	}
	p.NoError(again())
	p.ErrorIs(again(), verbs.ErrInvalidState, "while it connects")
	p.within(func() {
		p.NoError(p.actor.Upcalls.Established(&provider.Proposal{}, netip.AddrPort{}, remote))
	})
	p.ErrorIs(again(), verbs.ErrInvalidState, "while it is connected")
	p.NoError(p.endpoint.Disconnect(verbs.CloseAbrupt))
	p.ErrorIs(again(), verbs.ErrInvalidState, "before Reset")
	p.NoError(p.endpoint.Reset())
	p.NoError(again())
	p.Len(p.stage.pairs, 2, "a queue pair is used once")
}

// TestTimedOut checks the event of a connect that times out: EventTimedOut if the host has received the request, and
// EventUnreachable otherwise.
func TestTimedOut(t *testing.T) {
	for contacted, want := range map[bool]verbs.EventType{true: verbs.EventTimedOut, false: verbs.EventUnreachable} {
		p := newPlay(t, nil)
		p.actor.contacted = contacted
		p.NoError(p.endpoint.Connect(remote, verbs.ConnectOptions{Timeout: 1}))
		p.NoError(p.queue.Wait(context.Background(), 1))
		p.Equal([]verbs.EventType{want}, p.events())
		p.Equal(1, p.actor.closed)
	}
}

// TestAttemptThatSucceedsHasNoDeadline checks that a waiting goroutine does not wake at the deadline of a
// connect that has already succeeded.
func TestAttemptThatSucceedsHasNoDeadline(t *testing.T) {
	p := newPlay(t, nil)
	p.stage.asleep = make(chan time.Time)
	p.NoError(p.endpoint.Connect(remote, verbs.ConnectOptions{Timeout: time.Hour}))
	p.within(func() {
		p.NoError(p.actor.Upcalls.Established(&provider.Proposal{}, netip.AddrPort{}, remote))
	})
	p.Equal([]verbs.EventType{verbs.EventEstablished}, p.events())
	result := wait(p.queue, 1)
	p.Zero(<-p.stage.asleep, "a sleep without an end")
	p.NoError(p.endpoint.Disconnect(verbs.CloseAbrupt))
	p.NoError(<-result)
}
