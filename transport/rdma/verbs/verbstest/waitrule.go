package verbstest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// waitRules contains the rules on goroutines that sleep until a queue has entries.
var waitRules = []statement{
	{0, "waiters_are_woken_across_adapters", func(r *rig) { r.pingPong(1) }},
	{0, "many_waiters_share_one_sleeper", func(r *rig) { r.pingPong(5) }},
	{0, "a_threshold_holds_a_waiter_back", func(r *rig) {
		m := r.connected()
		r.ok("disconnect", m.active.Disconnect(verbs.CloseAbrupt))
		q := r.a.requests
		woken := make(chan error, 1)
		go func() { woken <- q.Wait(context.Background(), 3) }()
		for id := range uint64(3) {
			select {
			case err := <-woken:
				r.Fatalf("woken after %d entries: %v", id, err)
			default:
			}
			r.a.send(m.active, id, 0, 8)
		}
		r.ok("wait", <-woken)
		r.equal("entries", q.Len(), 3)
		r.is("threshold", q.Wait(context.Background(), 0), verbs.ErrInvalidParameter)
		r.is("threshold", q.Wait(context.Background(), q.Capacity()+1), verbs.ErrInvalidParameter)
	}},
	{0, "a_context_ends_a_wait", func(r *rig) {
		ctx, cancel := context.WithCancel(context.Background())
		results := make(chan error, 3)
		for _, q := range []*verbs.CompletionQueue{r.a.receives, r.a.requests, r.a.receives} {
			go func() { results <- q.Wait(ctx, 1) }()
		}
		cancel()
		for range 3 {
			r.is("wait", <-results, context.Canceled)
		}
		ctx, cancel = context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		r.is("wait", r.a.requests.Wait(ctx, 1), context.DeadlineExceeded)
	}},
	{0, "closing_the_adapter_ends_waits", func(r *rig) {
		results := make(chan error, 4)
		for i := range 4 {
			q := []*verbs.CompletionQueue{r.a.receives, r.a.requests}[i%2]
			go func() { results <- q.Wait(context.Background(), 1) }()
		}
		r.a.connections.Arm(func() {})
		r.ok("close", r.a.adapter.Close())
		for range 4 {
			r.is("wait", <-results, verbs.ErrClosed)
		}
		r.that(!r.a.connections.Arm(func() {}), "armed a dead queue")
	}},
	{0, "a_timeout_passes_while_everybody_sleeps", func(r *rig) {
		ep := r.a.endpoint()
		r.ok("connect", ep.Connect(r.p.listen().Address(), verbs.ConnectOptions{Timeout: 5 * time.Millisecond}))
		r.ok("wait", r.a.connections.Wait(context.Background(), 1))
		e := r.a.event(ep)
		r.that(e.Type == verbs.EventTimedOut || e.Type == verbs.EventUnreachable, "event %v", e.Type)
	}},
	{0, "quiet_and_unsolicited_completions_wake_nobody", testQuiet},
	{0, "arm_rings_once", testArm},
}

// pingPong sends messages back and forth between pairs of goroutines, which sleep until the next
// completion. All goroutines of one side use one adapter. Each goroutine has queues of its own.
func (r *rig) pingPong(pairs int) {
	r.Helper()
	players := make([]*player, 0, 2*pairs)
	for range pairs {
		a, p := r.player(r.a, true), r.player(r.p, false)
		r.meet(a.endpoint, p.endpoint, nil, nil)
		players = append(players, a, p)
	}
	errs := make([]error, len(players))
	var all sync.WaitGroup
	for i, p := range players {
		all.Go(func() { errs[i] = p.play() })
	}
	all.Wait()
	r.ok("play", errors.Join(errs...))
}

// player is one goroutine of pingPong.
type player struct {
	side               *side
	endpoint           *verbs.Endpoint
	receives, requests *verbs.CompletionQueue
	serves             bool
}

func (r *rig) player(s *side, serves bool) *player {
	r.Helper()
	p := &player{side: s, receives: s.queue(16), requests: s.queue(16), serves: serves}
	p.endpoint = s.endpoint(func(c *verbs.EndpointConfig) { c.Receives, c.Requests = p.receives, p.requests })
	s.receive(p.endpoint, 0, 0, 8)
	return p
}

// play sends and receives messages in turn.
func (p *player) play() error {
	const rounds = 50
	for turn := range uint64(2 * rounds) {
		queue := p.receives
		if (turn%2 == 0) == p.serves {
			queue = p.requests
			w := verbs.WorkRequest{ID: turn, Op: verbs.OpSend, Segments: []verbs.Segment{p.side.region.Segment(64, 8)}}
			if err := p.endpoint.Post(&w); err != nil {
				return err
			}
		}
		if err := queue.Wait(context.Background(), 1); err != nil {
			return err
		}
		var into [2]verbs.Completion
		if n := queue.Poll(into[:]); n != 1 || into[0].Status != verbs.StatusSuccess {
			return fmt.Errorf("turn %d: %d completions, the first %v", turn, n, into[0].Status)
		}
		if queue == p.receives {
			if err := p.endpoint.PostReceive(&verbs.ReceiveRequest{Segments: []verbs.Segment{p.side.region.Segment(0, 8)}}); err != nil {
				return err
			}
		}
	}
	return nil
}

func testQuiet(r *rig) {
	requests, receives := r.a.queue(16), r.p.queue(16)
	active := r.a.endpoint(func(c *verbs.EndpointConfig) {
		c.Requests, c.Attributes.RequestFlags = requests, verbs.CompletionUnsignalled
	})
	passive := r.p.endpoint(func(c *verbs.EndpointConfig) {
		c.Receives, c.Attributes.ReceiveFlags = receives, verbs.CompletionSolicitedWait
	})
	m := r.meet(active, passive, nil, nil)
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for _, loud := range []bool{false, true} {
		r.p.receive(m.passive, 1, 0, 8)
		w := verbs.WorkRequest{Op: verbs.OpSend, Flags: verbs.FlagQuiet}
		if loud {
			w.Flags = verbs.FlagSolicited
		}
		r.ok("send", m.active.Post(&w))
		n := 1
		if loud {
			n = 2
		}
		r.pump("completions", func() bool { return requests.Len() == n && receives.Len() == n })
		for _, q := range []*verbs.CompletionQueue{requests, receives} {
			if loud || q == receives && r.p.limits.HidesFlags {
				r.ok("wait", q.Wait(over, 1)) // no error, because a completion is queued
			} else {
				r.is("wait", q.Wait(over, 1), context.Canceled)
			}
		}
	}
	into := make([]verbs.Completion, 4)
	r.equal("entries", requests.Poll(into), 2)
	r.equal("entries", receives.Poll(into), 2)
	// The flags of the endpoint must allow quiet receives, in the same way as quiet requests.
	r.is("quiet receive", m.passive.PostReceive(&verbs.ReceiveRequest{Flags: verbs.FlagQuiet}), verbs.ErrInvalidParameter)
	q := r.p.queue(16)
	passive = r.p.endpoint(flags(q, nil, verbs.CompletionUnsignalled, 0), func(c *verbs.EndpointConfig) { c.Connections = r.p.connections })
	r.is("solicited receive", passive.PostReceive(&verbs.ReceiveRequest{Flags: verbs.FlagSolicited}), verbs.ErrInvalidParameter)
	active = r.a.endpoint()
	r.ok("quiet receive", passive.PostReceive(&verbs.ReceiveRequest{Flags: verbs.FlagQuiet}))
	r.ok("a change keeps it", passive.Modify(verbs.ParamConnections, verbs.EndpointConfig{Connections: r.p.connections}))
	r.ok("loud receive", passive.PostReceive(&verbs.ReceiveRequest{}))
	r.meet(active, passive, nil, nil)
	for n := range 2 {
		r.ok("send", active.Post(&verbs.WorkRequest{Op: verbs.OpSend}))
		r.pump("receive", func() bool { return q.Len() == n+1 })
		if n == 0 {
			r.is("wait", q.Wait(over, 1), context.Canceled)
		} else {
			r.ok("wait", q.Wait(over, 1))
		}
	}
}

func testArm(r *rig) {
	m := r.connected()
	r.talk(m)
	rings := make(chan struct{}, 16)
	ring := func() { rings <- struct{}{} }
	for round := range uint64(3) {
		r.p.receive(m.passive, round, 0, 8)
		r.that(r.p.receives.Arm(ring), "not armed")
		r.ok("send", m.active.Post(&verbs.WorkRequest{Op: verbs.OpSend}))
		<-rings // no goroutine polls the passive side during the wait
		r.equal("entries", r.p.receives.Len(), 1)
		r.that(!r.p.receives.Arm(ring), "armed over an entry")
		r.p.done(m.passive, verbs.StreamReceive, round, verbs.StatusSuccess)
	}
	r.p.receive(m.passive, 9, 0, 8)
	r.that(r.p.receives.Arm(ring), "not armed")
	r.p.receives.Disarm()
	r.p.receives.Disarm()
	r.ok("send", m.active.Post(&verbs.WorkRequest{Op: verbs.OpSend}))
	r.p.done(m.passive, verbs.StreamReceive, 9, verbs.StatusSuccess)
	r.equal("rings", len(rings), 0)
}
