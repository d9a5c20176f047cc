package verbstest

import (
	"errors"
	"sync"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// raceRules contains the rules on the use of one object by many goroutines. The tests of these
// rules should run under the race detector.
var raceRules = []statement{
	{0, "concurrent_ends_have_one_event", func(r *rig) {
		for range 10 {
			m := r.connected()
			r.all(4, func(int) error { return m.active.Disconnect(verbs.CloseAbrupt) })
			r.a.expect(m.active, verbs.EventDisconnected, verbs.StateDisconnected)
		}
		r.quiet()
		r.equal("entries left", len(r.a.log), 0)
	}},
	{0, "concurrent_posts_complete_once_each", testConcurrentPosts},
	{0, "connect_races_listener_close_and_timeouts", func(r *rig) {
		for range 20 {
			l := r.p.listen()
			ep := r.a.endpoint()
			r.all(2, func(i int) error {
				if i == 0 {
					return l.Close()
				}
				return ep.Connect(l.Address(), options(nil))
			})
			r.ok("disconnect", ep.Disconnect(verbs.CloseAbrupt))
			t := r.a.event(ep).Type
			r.that(t == verbs.EventDisconnected || t == verbs.EventNonPeerRejected, "event %v", t)
		}
	}},
	{0, "free_races_everything", func(r *rig) {
		for range 20 {
			m := r.connected()
			r.all(5, func(i int) error {
				var err error
				switch i {
				case 0:
					return m.active.Free()
				case 1:
					err = m.active.Post(&verbs.WorkRequest{Op: verbs.OpSend})
				case 2:
					err = m.active.PostReceive(&verbs.ReceiveRequest{})
				case 3:
					_, err = m.active.Query()
				case 4:
					r.a.adapter.Progress()
				}
				if errors.Is(err, verbs.ErrInvalidHandle) {
					err = nil
				}
				return err
			})
		}
	}},
}

// all starts n goroutines, each of which calls run. It ends the test if one of these calls returns
// an error.
func (r *rig) all(n int, run func(i int) error) {
	r.Helper()
	errs := make([]error, n)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			errs[i] = run(i)
		})
	}
	close(start)
	all.Wait()
	r.ok("concurrent calls", errors.Join(errs...))
}

// oneWinner starts n goroutines, each of which calls attempt. It checks that exactly one call
// succeeds and that the other calls fail with the error loss. It returns the number of the
// successful call.
func (r *rig) oneWinner(n int, loss error, attempt func(i int) error) int {
	r.Helper()
	errs := make([]error, n)
	r.all(n, func(i int) error {
		errs[i] = attempt(i)
		return nil
	})
	winner := -1
	for i, err := range errs {
		if err == nil {
			r.that(winner < 0, "attempts %d and %d have both won", winner, i)
			winner = i
			continue
		}
		r.is("loser", err, loss)
	}
	r.that(winner >= 0, "nobody has won")
	return winner
}

// testConcurrentPosts posts from several goroutines, and one of them disconnects during the posts.
// It checks that each accepted request completes exactly once.
func testConcurrentPosts(r *rig) {
	const posters, each = 4, 50
	m := r.connected()
	posted := make([]map[uint64]int, posters)
	done := make(chan struct{})
	counts := map[uint64]int{}
	var poller sync.WaitGroup
	poller.Go(func() {
		into := make([]verbs.Completion, 8)
		for ended := false; ; {
			n := r.a.requests.Poll(into)
			for _, c := range into[:n] {
				counts[c.ID]++
			}
			if n == 0 && ended {
				return
			}
			select {
			case <-done:
				ended = true
			default:
			}
		}
	})
	r.all(posters, func(i int) error {
		posted[i] = map[uint64]int{}
		for n := range uint64(each) {
			id := uint64(i)<<32 | n
			switch err := m.active.Post(&verbs.WorkRequest{ID: id, Op: verbs.OpWrite}); {
			case err == nil:
				posted[i][id]++
			case !errors.Is(err, verbs.ErrInsufficientResources):
				return err
			}
			if i == 0 && n == each/2 {
				if err := m.active.Disconnect(verbs.CloseAbrupt); err != nil {
					return err
				}
			}
		}
		return nil
	})
	close(done)
	poller.Wait()
	total := 0
	for _, ids := range posted {
		for id := range ids {
			r.equal("completions", counts[id], 1)
			total++
		}
	}
	r.equal("completions in all", len(counts), total)
}
