package verbs_test

import (
	"net/netip"
	"testing"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// TestBacklog checks that the backlog limits the number of unanswered requests, and that an Accept or a Reject
// makes room for another request.
func TestBacklog(t *testing.T) {
	const backlog = 3
	p := newPlay(t, nil)
	l, err := p.adapter.Listen(verbs.ListenOptions{Queue: p.queue, Backlog: backlog})
	p.NoError(err)
	arrives := func() (err error) {
		p.within(func() {
			err = p.stage.sinks[0].Arrived(&silentHandshake{}, l.Address(), remote, &provider.Proposal{})
		})
		return err
	}
	for range backlog {
		p.NoError(arrives())
	}
	p.ErrorIs(arrives(), verbs.ErrBacklogFull)
	requests := p.poll()
	p.Len(requests, backlog)
	p.ErrorIs(arrives(), verbs.ErrBacklogFull, "taken out of the queue is not answered")
	ep, _ := p.make(nil)
	p.NoError(requests[0].Event.Request.Accept(ep, nil))
	p.NoError(arrives())
	p.ErrorIs(arrives(), verbs.ErrBacklogFull)
	p.NoError(requests[1].Event.Request.Reject(nil))
	p.NoError(arrives())
	p.ErrorIs(arrives(), verbs.ErrBacklogFull)
}

// TestErrorsOfListenNameTheAddress checks that every error of Listen contains the address, also if Listen fails before
// it passes the address to the provider. Without an address there is nothing to name.
func TestErrorsOfListenNameTheAddress(t *testing.T) {
	p := newPlay(t, nil)
	for _, o := range []verbs.ListenOptions{{}, {Queue: p.queue, Backlog: -1}, {Queue: p.queue, AdapterEndpoints: true}} {
		for address, want := range map[netip.AddrPort]string{remote: remote.String(), {}: ""} {
			o.Address = address
			_, err := p.adapter.Listen(o)
			var failed *verbs.OpError
			p.ErrorAs(err, &failed)
			p.Equal(want, failed.Peer)
		}
	}
}

// TestParamOfARequestIsWithinTheAdapter checks that Accept takes the parameters of a request that proposes more Reads
// than this adapter supports. Query lowers the depths.
func TestParamOfARequestIsWithinTheAdapter(t *testing.T) {
	p := newPlay(t, nil)
	l, err := p.adapter.Listen(verbs.ListenOptions{Queue: p.queue})
	p.NoError(err)
	h := &silentHandshake{}
	limits := p.adapter.Attributes()
	asked := &provider.Proposal{ResponderResources: limits.MaxReadsOut + 1, InitiatorDepth: limits.MaxReadsIn + 1}
	p.within(func() { p.NoError(p.stage.sinks[0].Arrived(h, l.Address(), remote, asked)) })
	ep, _ := p.make(nil)
	request := p.poll()[0].Event.Request
	info, err := request.Query()
	p.NoError(err)
	p.NoError(request.Accept(ep, &info.Param))
	p.Equal(limits.MaxReadsIn, h.answer.ResponderResources)
	p.Equal(limits.MaxReadsOut, h.answer.InitiatorDepth)
}
