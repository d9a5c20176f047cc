package phases_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// wait is a way to wait for a late rank.
type wait struct {
	name   string
	actors bool // whether the wait needs an actors.System
	run    func(r *rank, p phase) error
}

// waits lists all ways. It is set by init, because the actors of some ways refer to the phases.
var waits []wait

func init() {
	waits = slices.Concat(messageWaits, actorWaits)
}

// late calls one of two functions. The late rank pauses, and then calls the function late. The other ranks
// call the function others.
func (r *rank) late(p phase, late, others func() error) error {
	if r.isLate(p) {
		p.pause.run(p.length)
		return late()
	}
	return others()
}

// told returns a way to wait for a message. The function hear receives the message.
func told(name string, hear func(r *rank, late int) error) wait {
	return wait{name: name, run: func(r *rank, p phase) error {
		return r.late(p, func() error { return r.tell(0) }, func() error { return hear(r, p.late) })
	}}
}

// together returns a way to wait in an operation that all ranks call.
func together(name string, fn func(r *rank, p phase) error) wait {
	return wait{name: name, run: func(r *rank, p phase) error {
		return r.late(p, func() error { return fn(r, p) }, func() error { return fn(r, p) })
	}}
}

// longMessage is the length of a message that the receiver reads from the sender's memory.
const longMessage = 1 << 20

// messageWaits lists the waits for messages, for collective operations and for words of shared
// memory.
var messageWaits = []wait{
	told("receive", func(r *rank, late int) error { return r.hear(late, 0) }),
	{name: "receive from any source", run: func(r *rank, p phase) error {
		return errors.Join(r.late(p, func() error { return r.tell(0) }, func() error { return r.hear(runtime.AnySource, 0) }), r.meet())
	}},
	told("probe", func(r *rank, late int) error {
		_, err := runtime.Probe(r.Comm, late, r.tag)
		return errors.Join(err, r.hear(late, 0))
	}),
	told("matched probe", func(r *rank, late int) error {
		m, err := runtime.Mprobe(r.Comm, late, r.tag)
		if err != nil {
			return err
		}
		got := []int{-1}
		_, err = runtime.RecvMatched(m, got)
		return errors.Join(err, r.check(got[0]))
	}),
	told("memory", func(r *rank, late int) error {
		m, err := runtime.RecvMessage(r.Comm, late, r.tag)
		if err != nil {
			return err
		}
		m.Close()
		return nil
	}),
	{name: "any of several", run: anyOfSeveral},
	{name: "synchronous send", run: func(r *rank, p phase) error {
		return r.late(p, func() error {
			return r.others(func(int) error { return r.hear(runtime.AnySource, 0) })
		}, func() error { return runtime.Ssend(r.Comm, []int{r.tag}, p.late, r.tag) })
	}},
	{name: "long sends", run: func(r *rank, p phase) error {
		return r.late(p, func() error {
			return r.others(func(other int) error {
				_, err := runtime.Recv(r.Comm, make([]byte, longMessage), other, r.tag)
				return err
			})
		}, func() error { return runtime.Send(r.Comm, make([]byte, longMessage), p.late, r.tag) })
	}},
	together("barrier", func(r *rank, _ phase) error { return collectives.Barrier(r.Comm) }),
	together("allreduce", allReduce),
	together("nonblocking barrier", func(r *rank, _ phase) error {
		request := collectives.IBarrier(r.Comm)
		_, err := request.Wait()
		return err
	}),
	together("nonblocking bcast beside messages", besideMessages),
	together("duplicate", func(r *rank, _ phase) error {
		dup, err := r.Dup()
		if err != nil {
			return err
		}
		return dup.Close()
	}),
	{name: "word", run: word},
	{name: "ring", run: func(r *rank, p phase) error {
		if r.isLate(p) {
			p.pause.run(p.length)
			return errors.Join(runtime.Send(r.Comm, []int{r.tag}, r.next(), r.tag), r.hear((r.Rank()+r.Size()-1)%r.Size(), 0))
		}
		return errors.Join(r.hear((r.Rank()+r.Size()-1)%r.Size(), 0), runtime.Send(r.Comm, []int{r.tag}, r.next(), r.tag))
	}},
	{name: "timer", run: func(r *rank, p phase) error {
		if !r.isLate(p) {
			return errors.Join(r.hear(p.late, 0), runtime.Send(r.Comm, []int{r.tag}, p.late, r.tag+1))
		}
		time.AfterFunc(p.length, func() { _ = r.tell(0) })
		return r.others(func(int) error { return r.hear(runtime.AnySource, 1) })
	}},
	{name: "end of a context", run: func(r *rank, p phase) error {
		ctx, cancel := context.WithTimeout(context.Background(), p.length)
		defer cancel()
		_, err := runtime.Recv(r.WithContext(ctx), make([]int, 1), r.next(), r.tag)
		if !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("want the context's end, got: %w", err)
		}
		return nil
	}},
	{name: "function of a context", run: func(r *rank, p phase) error {
		if !r.isLate(p) {
			return r.hear(p.late, 0)
		}
		ctx, cancel := context.WithTimeout(context.Background(), p.length)
		defer cancel()
		context.AfterFunc(ctx, func() { _ = runtime.Send(r.Comm, []int{r.tag}, r.Rank(), r.tag+1) })
		return errors.Join(r.hear(r.Rank(), 1), r.tell(0))
	}},
	{name: "function in the background", run: func(r *rank, p phase) error {
		if !r.isLate(p) {
			return r.hear(p.late, 0)
		}
		request := runtime.NewRequest(r.Comm, func(*runtime.Comm) error {
			p.pause.run(p.length)
			return r.tell(0)
		})
		_, err := request.Wait()
		return err
	}},
}

// anyOfSeveral waits for one of two messages of the late rank.
func anyOfSeveral(r *rank, p phase) error {
	return r.late(p, func() error { return errors.Join(r.tell(1), r.tell(0)) }, func() error {
		got := []int{-1, -1}
		requests := []runtime.Request{
			runtime.Irecv(r.Comm, got[:1], p.late, r.tag), runtime.Irecv(r.Comm, got[1:], p.late, r.tag+1),
		}
		_, _, err := runtime.WaitAny(requests)
		return errors.Join(err, runtime.WaitAll(requests), r.check(got[0]), r.check(got[1]))
	})
}

func allReduce(r *rank, _ phase) error {
	sum := []int{0}
	if err := collectives.AllReduce(r.Comm, []int{r.tag}, sum, collectives.Sum); err != nil {
		return err
	}
	if want := r.tag * r.Size(); sum[0] != want {
		return fmt.Errorf("the sum is %d, want %d", sum[0], want)
	}
	return nil
}

// besideMessages exchanges messages between the start and the completion of a broadcast.
func besideMessages(r *rank, p phase) error {
	b := make([]int, 1000)
	request := collectives.IBcast(r.Comm, b, p.late)
	if _, err := runtime.SendRecv(r.Comm, []int{1}, r.next(), r.tag, make([]int, 1), (r.Rank()+r.Size()-1)%r.Size(), r.tag); err != nil {
		return err
	}
	_, err := request.Wait()
	return err
}

// word waits for a word of the late rank's memory, if the late rank is on the same node.
func word(r *rank, p phase) error {
	near, err := r.Split(r.world.NodeRank(), 0)
	if err != nil {
		return err
	}
	shared, err := runtime.NewShared(near, 64)
	if err != nil {
		return err
	}
	err = r.late(p, func() error {
		shared.Signal(shared.Word(near.Rank(), 0), 1)
		return nil
	}, func() error {
		for there := range near.Size() {
			if near.WorldRank(there) == p.late {
				return shared.Await(near, shared.Word(there, 0), 1)
			}
		}
		return nil // the late rank is on another node
	})
	return errors.Join(err, shared.Close(), near.Close())
}
