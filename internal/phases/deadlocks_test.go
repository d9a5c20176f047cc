package phases_test

import (
	"errors"
	"slices"
	"sync"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// errLeft is the result of a rank that ends and leaves the other ranks in a deadlock.
var errLeft = errors.New("left")

// deadlock is a kind of deadlock, in which all ranks or some of them take part.
type deadlock struct {
	name   string
	actors bool // whether the deadlock needs an actors.System
	run    func(r *rank) error
}

// deadlocks lists all kinds. It is set by init, because the actors of some kinds refer to the
// phases.
var deadlocks []deadlock

func init() { deadlocks = slices.Concat(messageDeadlocks, actorDeadlocks) }

var messageDeadlocks = []deadlock{
	{name: "receives in a circle", run: func(r *rank) error { return r.hear(r.next(), 0) }},
	{name: "receives from any source", run: func(r *rank) error { return r.hear(runtime.AnySource, 0) }},
	{name: "probes", run: func(r *rank) error {
		_, err := runtime.Probe(r.Comm, runtime.AnySource, r.tag)
		return err
	}},
	{name: "synchronous sends", run: func(r *rank) error { return runtime.Ssend(r.Comm, []int{1}, r.next(), r.tag) }},
	{name: "long sends", run: func(r *rank) error {
		return runtime.Send(r.Comm, make([]byte, longMessage), r.next(), r.tag)
	}},
	{name: "any of several", run: func(r *rank) error {
		_, _, err := runtime.WaitAny([]runtime.Request{
			runtime.Irecv(r.Comm, make([]int, 1), r.next(), r.tag), runtime.Irecv(r.Comm, make([]int, 1), r.next(), r.tag+1),
		})
		return err
	}},
	{name: "a barrier that a rank leaves out", run: func(r *rank) error {
		if r.Rank() == 0 {
			return errLeft
		}
		return collectives.Barrier(r.Comm)
	}},
	{name: "a nonblocking barrier that a rank leaves out", run: func(r *rank) error {
		if r.Rank() == 1 {
			return errLeft
		}
		request := collectives.IBarrier(r.Comm)
		_, err := request.Wait()
		return err
	}},
	{name: "a reduction and a receive", run: func(r *rank) error {
		if r.Rank() == 1 {
			return r.hear(0, 0)
		}
		return collectives.AllReduce(r.Comm, []int{1}, []int{0}, collectives.Sum)
	}},
	{name: "a duplicate that a rank leaves out", run: func(r *rank) error {
		if r.Rank() == 0 {
			return r.hear(1, 0)
		}
		_, err := r.Dup()
		return err
	}},
	{name: "a word", run: func(r *rank) error {
		near, err := r.Split(r.world.NodeRank(), 0)
		if err != nil {
			return err
		}
		shared, err := runtime.NewShared(near, 64)
		if err != nil {
			return err
		}
		return shared.Await(near, shared.Word(0, 0), 1)
	}},
	{name: "goroutines", run: func(r *rank) error {
		var all sync.WaitGroup
		for offset := range tagStride {
			all.Go(func() { _ = r.hear(r.next(), offset) })
		}
		all.Wait()
		return nil
	}},
	{name: "a function in the background", run: func(r *rank) error {
		request := runtime.NewRequest(r.Comm, func(*runtime.Comm) error { return r.hear(r.next(), 0) })
		_, err := request.Wait()
		return err
	}},
	{name: "two of the ranks", run: func(r *rank) error {
		if r.Rank() > 1 {
			select {} // the other ranks wait for ever, so that they do not prevent the proof
		}
		return r.hear(1-r.Rank(), 0)
	}},
}

var actorDeadlocks = []deadlock{
	{name: "requests in a circle", actors: true, run: func(r *rank) error {
		_, err := r.system.Root.RequestFuture(r.system.PID(r.Rank(), "asker"), "you", unlimited).Result()
		return err
	}},
	{name: "a request that nobody answers", actors: true, run: func(r *rank) error {
		if r.Rank() == 0 {
			return r.ask(r.system.PID(1, "mute"))
		}
		return r.hear(0, 0)
	}},
	{name: "a mailbox that nobody drains", actors: true, run: func(r *rank) error {
		for stuck := r.system.PID(r.next(), "stuck"); ; {
			r.system.Root.Send(stuck, string(make([]byte, 1000)))
		}
	}},
	{name: "receives beside actors", actors: true, run: func(r *rank) error { return r.hear(r.next(), 0) }},
}
