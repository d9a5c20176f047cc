package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// The nonblocking operations run on goroutines of their own and talk in messages
// of their own, so that any number may be under way, beside a blocking one, and
// be waited for in any order. All members start them in the same order. Until the
// request is complete its buffers belong to it. Errors come from Wait.

// IBarrier starts a Barrier: its request is complete when all members have
// started theirs.
func IBarrier(c *runtime.Comm) runtime.Request {
	return start(c, opBarrier, func(*group) error { return nil }, func(_ *group, p *peer) error {
		return message.BarrierDissemination(p)
	})
}

// IBcast starts a Bcast.
func IBcast[T any](c *runtime.Comm, buf []T, root int) runtime.Request {
	b := kernel.Bytes(buf)
	return start(c, opBcast, func(g *group) error {
		if err := element[T](); err != nil {
			return err
		}
		return g.checkRoot(root)
	}, func(g *group, p *peer) error {
		return bcastMessages(p, g.far(opBcast, len(b), 0, true), b, root)
	})
}

// IAllReduce starts an AllReduce.
func IAllReduce[T any](c *runtime.Comm, send, recv []T, op Op) runtime.Request {
	in, out := kernel.Bytes(send), kernel.Bytes(recv)
	var r message.Reduction
	return start(c, opAllReduce, func(*group) (err error) {
		if err = element[T](); err != nil {
			return err
		}
		if r, err = bind[T](op); err != nil {
			return err
		}
		return checkReduce(in, out, max(r.Elem, 1))
	}, func(g *group, p *peer) error {
		return allReduceMessages(p, g.far(opAllReduce, len(in), r.Elem, r.Commutative), in, out, r)
	})
}

// start numbers an operation, at once, so that the numbers agree at all members,
// checks its arguments and runs it.
func start(c *runtime.Comm, op operation, check func(*group) error, run func(*group, *peer) error) runtime.Request {
	g, private, err := find(c)
	if err == nil {
		err = check(g)
	}
	if err != nil {
		return runtime.NewRequest(c, func(*runtime.Comm) error { return refuse(op, err) })
	}
	tag := tagStarted + int(g.started.Add(1)%tagsStarted)
	return runtime.NewRequest(private, func(c *runtime.Comm) error {
		err := run(g, &peer{comm: c, rank: g.rank, size: g.size, tag: tag})
		if err == nil {
			return nil
		}
		c.Break(err)
		return refuse(op, err)
	})
}

// far chooses among the algorithms that talk in messages.
func (g *group) far(op operation, bytes, elem int, commutative bool) algorithm {
	s := g.situation(op, bytes, elem, commutative)
	s.near = false
	return g.take(&s)
}
