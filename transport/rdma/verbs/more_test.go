package verbs_test

import (
	"errors"
	"testing"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// TestMoreHoldsBack checks each call that starts the requests that FlagMore holds back: the call notifies
// the queue pair once for all of them.
func TestMoreHoldsBack(t *testing.T) {
	begins := map[string]func(p *play){
		"a post without the flag": func(p *play) { p.NoError(p.endpoint.Post(p.send(2, 0))) },
		"progress":                func(p *play) { p.adapter.Progress() },
		"a poll":                  func(p *play) { p.Empty(p.poll()) },
		"Begin":                   func(p *play) { p.adapter.Begin() },
		"a disconnect":            func(p *play) { p.NoError(p.endpoint.Disconnect(verbs.CloseGraceful)) },
	}
	for name, begin := range begins {
		t.Run(name, func(t *testing.T) {
			p := newPlay(t, nil)
			p.connect(p.endpoint, p.actor, 1)
			calls, taken := 0, 0
			p.actor.posted = func() {
				calls++
				for p.actor.Sends.Next() != nil {
					taken++
				}
			}
			p.NoError(p.endpoint.Post(p.send(0, verbs.FlagMore)))
			n, err := p.endpoint.PostList([]verbs.WorkRequest{*p.send(1, verbs.FlagMore)})
			p.NoError(err)
			p.Equal(1, n)
			p.Zero(calls, "calls before %s", name)
			begin(p)
			p.Equal(1, calls)
			p.GreaterOrEqual(taken, 2)
		})
	}
}

// TestMoreIsFlushed checks that a request that is held back is flushed like any other request when the
// connection ends, and that the queue pair is not notified afterwards.
func TestMoreIsFlushed(t *testing.T) {
	p := newPlay(t, nil)
	p.connect(p.endpoint, p.actor, 1)
	p.NoError(p.endpoint.Post(p.send(7, verbs.FlagMore)))
	p.NoError(p.endpoint.Disconnect(verbs.CloseAbrupt))
	done := p.poll()
	p.Equal(uint64(7), done[0].ID)
	p.Equal(verbs.StatusFlushed, done[0].Status)
	p.actor.posted = func() { t.Error("a queue pair whose connection has ended was called") }
	p.adapter.Begin()
	p.NoError(p.endpoint.Free())
	p.adapter.Begin()
}

// TestMoreFindsTheConnectionLost posts a request that FlagMore holds back. A graceful Disconnect starts the request,
// and the provider then finds that the connection is lost. The test checks that the endpoint has the state and the
// single event of a lost connection, and that it can be used again.
func TestMoreFindsTheConnectionLost(t *testing.T) {
	for want, ends := range map[verbs.EventType]func(u provider.Upcalls){
		verbs.EventBroken:       func(u provider.Upcalls) { u.Broken(errors.New("reset")) },
		verbs.EventDisconnected: func(u provider.Upcalls) { u.Disconnected() },
	} {
		p := newPlay(t, nil)
		p.connect(p.endpoint, p.actor, 1)
		p.NoError(p.endpoint.Post(p.send(7, verbs.FlagMore)))
		p.actor.posted = func() { ends(p.actor.Upcalls) }
		p.NoError(p.endpoint.Disconnect(verbs.CloseGraceful))
		p.Zero(p.actor.drained+p.actor.disconnected, "calls of a queue pair that has ended")
		done := p.poll()
		p.Len(done, 2)
		p.Equal(verbs.StatusFlushed, done[0].Status)
		p.Equal(want, done[1].Event.Type)
		s, err := p.endpoint.Status()
		p.NoError(err)
		p.Equal(verbs.StateDisconnected, s.State)
		p.NoError(p.endpoint.Disconnect(verbs.CloseGraceful))
		p.Empty(p.poll())
		p.NoError(p.endpoint.Reset())
	}
}

// send returns a Send of 8 bytes.
func (p *play) send(id uint64, flags verbs.RequestFlags) *verbs.WorkRequest {
	return &verbs.WorkRequest{ID: id, Op: verbs.OpSend, Flags: flags, Segments: []verbs.Segment{p.region.Segment(0, 8)}}
}
