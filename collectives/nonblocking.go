package collectives

import (
	"fmt"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// The nonblocking operations run on goroutines of their own with messages of their own, so
// that any number of them may be under way beside a blocking one, and be waited for in any
// order. All members start them in the same order. Until the request is complete its
// buffers belong to it. Errors come from Wait.

// IBarrier starts a Barrier: its request is complete when all members have
// started theirs.
func IBarrier(c *runtime.Comm) runtime.Request {
	what := call{op: opBarrier, root: anyRoot}
	return start(c, what, func(*group) error { return nil }, func(_ *group, p *peer) error {
		return message.BarrierDissemination(p)
	})
}

// IBcast starts a Bcast.
func IBcast[T any](c *runtime.Comm, buf []T, root int) runtime.Request {
	b := kernel.Bytes(buf)
	what := call{op: opBcast, root: root, kind: kernel.KindOf[T](), bytes: len(b)}
	return start(c, what, func(g *group) error {
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
	r, err := bind[T](op)
	what := reduction(opAllReduce, anyRoot, r, len(in))
	what.kind = kernel.KindOf[T]()
	return start(c, what, func(*group) error {
		if refused := element[T](); refused != nil {
			return refused
		}
		if err != nil {
			return err
		}
		return checkReduce(in, out, max(r.Elem, 1))
	}, func(g *group, p *peer) error {
		return allReduceMessages(p, g.far(opAllReduce, len(in), r.Elem, r.Commutative), in, out, r)
	})
}

// start numbers an operation before anything else, so that the numbers agree at all members,
// checks its arguments and runs it.
func start(c *runtime.Comm, what call, check func(*group) error, run func(*group, *peer) error) runtime.Request {
	g, private, err := find(c)
	if err == nil {
		err = check(g)
	}
	if err != nil {
		err = refuse(what.op, err)
		return runtime.NewRequest(c, func(*runtime.Comm) error { return err })
	}
	n, said := g.started.Add(1), what.statement()
	bears := label(said.Fingerprint(), n)
	g.nonblocking.note(n, said, bears)
	return runtime.NewRequest(private, func(c *runtime.Comm) error {
		p := &peer{comm: c, rank: g.rank, size: g.size, tag: tagStarted + int(n%tagsStarted)}
		p.label.Set(bears)
		err := run(g, p)
		if err == nil {
			return nil
		}
		err = g.explain(c, err, &g.nonblocking, subjectStarted)
		c.Break(err)
		started, _ := g.nonblocking.of(n % labelNumbers)
		return fmt.Errorf("at %s: %w", started.line, refuse(what.op, lostWithin(c, err)))
	})
}

// far chooses among the algorithms that send messages.
func (g *group) far(op operation, bytes, elem int, commutative bool) algorithm {
	s := g.situation(op, bytes, elem, commutative)
	s.near = false
	return g.take(&s)
}
