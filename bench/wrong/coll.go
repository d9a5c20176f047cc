package main

import (
	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// collectiveArguments contains collective calls with arguments that no rank may pass.
var collectiveArguments = []program{
	{name: "root that does not exist", finds: `root 2, but the ranks are 0 to 1`, run: func(c *runtime.Comm) error {
		return collectives.Bcast(c, one(), c.Size())
	}},
	{name: "room for too little at the root of gather", finds: `recv holds 3 elements, not 4`, run: func(c *runtime.Comm) error {
		return collectives.Gather(c, room(2), room(3), 0)
	}},
	{name: "operator that does not fit the elements", finds: `operator does not fit the element type`, run: func(c *runtime.Comm) error {
		return collectives.AllReduce(c, []float64{1}, make([]float64, 1), collectives.BXor)
	}},
	{name: "negative count", finds: `count 1 of recv is -1`, run: func(c *runtime.Comm) error {
		return collectives.AllGatherV(c, room(1), room(2), []int{1, -1}, nil)
	}},
	{name: "displacement beyond the end", finds: `recv holds 2 elements, but its block 1 begins at element 2`, run: func(c *runtime.Comm) error {
		return collectives.AllGatherV(c, room(1), room(2), []int{1, 1}, []int{0, 2})
	}},
	{name: "send and receive buffers that overlap", finds: `buffers overlap`, run: func(c *runtime.Comm) error {
		b := room(4)
		return collectives.AllReduce(c, b[:3], b[1:], collectives.Sum)
	}},
	{name: "elements with pointers in a broadcast", finds: `element type cannot be sent`, run: func(c *runtime.Comm) error {
		return collectives.Bcast(c, []string{"text"}, 0)
	}},
	{name: "collective without a communicator", finds: `communicator is nil or of the wrong kind`, run: func(*runtime.Comm) error {
		return collectives.Barrier(nil)
	}},
	{name: "neighbors without a topology", finds: `communicator has no topology`, run: func(c *runtime.Comm) error {
		return collectives.NeighborAllGather(c, one(), room(2))
	}},
}

// collectiveMatching contains collective calls that differ between ranks.
var collectiveMatching = []program{
	{name: "allreduce and broadcast", ranks: 3, flags: patient, finds: `different collective operations`, run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			return collectives.Bcast(c, one(), 0)
		}
		return collectives.AllReduce(c, one(), room(1), collectives.Sum)
	}},
	{name: "barrier and allgather", ranks: 3, finds: `different collective operations`, run: func(c *runtime.Comm) error {
		if c.Rank() == 2 {
			return collectives.AllGather(c, one(), room(3))
		}
		return collectives.Barrier(c)
	}},
	{name: "roots that differ", ranks: 3, finds: `different collective operations`, run: func(c *runtime.Comm) error {
		return collectives.Bcast(c, one(), c.Rank()%2)
	}},
	{name: "operators that differ", ranks: 3, finds: `different collective operations`, run: func(c *runtime.Comm) error {
		op := collectives.Sum
		if c.Rank() == 1 {
			op = collectives.Max
		}
		return collectives.AllReduce(c, one(), room(1), op)
	}},
	{name: "lengths that differ", ranks: 3, finds: `different collective operations`, run: func(c *runtime.Comm) error {
		n := 2 + c.Rank()/2
		return collectives.AllReduce(c, room(n), room(n), collectives.Sum)
	}},
	{name: "types that differ in a collective", ranks: 3, finds: `different collective operations`, run: func(c *runtime.Comm) error {
		if c.Rank() == 1 {
			return collectives.AllReduce(c, []float64{1}, make([]float64, 1), collectives.Sum)
		}
		return collectives.AllReduce(c, one(), room(1), collectives.Sum)
	}},
	{name: "counts that differ", ranks: 2, finds: `different collective operations`, run: func(c *runtime.Comm) error {
		counts := []int{1, 1 + c.Rank()}
		return collectives.AllGatherV(c, room(counts[c.Rank()]), room(3), counts, nil)
	}},
	{name: "counts that only two ranks know differ", finds: `buffer has the wrong length`, run: func(c *runtime.Comm) error {
		return collectives.AllToAllV(c, room(4), []int{2, 2}, nil, room(4), []int{1 + c.Rank(), 1 + c.Rank()}, nil)
	}},
	{name: "last collective of one rank differs", ranks: 3, finds: `different collective operations`, run: func(c *runtime.Comm) error {
		if err := collectives.Barrier(c); err != nil {
			return err
		}
		if c.Rank() == 0 {
			return collectives.Reduce(c, one(), room(1), collectives.Sum, 0)
		}
		return collectives.Gather(c, one(), room(3), 0)
	}},
	{name: "blocking and nonblocking", finds: `deadlock`, run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			return collectives.Barrier(c)
		}
		return failure(collectives.IBarrier(c).Wait())
	}},
	{name: "nonblocking operations in another order", finds: `different collective operations`, run: func(c *runtime.Comm) error {
		start := []func() runtime.Request{
			func() runtime.Request { return collectives.IBcast(c, one(), 0) },
			func() runtime.Request { return collectives.IAllReduce(c, one(), room(1), collectives.Sum) },
		}
		return runtime.WaitAll([]runtime.Request{start[c.Rank()](), start[1-c.Rank()]()})
	}},
	{name: "persistent operations of other roots", finds: `different collective operations`, run: func(c *runtime.Comm) error {
		p := collectives.BcastInit(c, one(), c.Rank())
		defer p.Close()
		if err := p.Start(); err != nil {
			return err
		}
		return failure(p.Wait())
	}},
	{name: "values of other types in a broadcast", finds: `the sender's type is string`, run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			return failure(collectives.BcastValue(c, "text", 0))
		}
		return failure(collectives.BcastValue(c, []int(nil), 0))
	}},
}

// collectiveOrdering contains collective calls that some ranks omit, or make in another order.
var collectiveOrdering = []program{
	{name: "barrier that a rank leaves out", ranks: 3, finds: `deadlock`, run: func(c *runtime.Comm) error {
		if c.Rank() == 1 {
			return nil
		}
		return collectives.Barrier(c)
	}},
	{name: "gather that the root leaves out", ranks: 3, finds: `deadlock`, run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			return nil
		}
		return collectives.Gather(c, one(), nil, 0)
	}},
	{name: "two collectives in another order", finds: `different collective operations`, run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			if err := collectives.Bcast(c, one(), 0); err != nil {
				return err
			}
			return collectives.Barrier(c)
		}
		if err := collectives.Barrier(c); err != nil {
			return err
		}
		return collectives.Bcast(c, room(1), 0)
	}},
	{name: "two communicators in another order", finds: `deadlock`, run: func(c *runtime.Comm) error {
		dup, err := c.Dup()
		if err != nil {
			return err
		}
		comms := []*runtime.Comm{c, dup}
		if err := collectives.Barrier(comms[c.Rank()]); err != nil {
			return err
		}
		if err := collectives.Barrier(comms[1-c.Rank()]); err != nil {
			return err
		}
		return dup.Close()
	}},
	{name: "split that a rank leaves out", ranks: 3, finds: `deadlock`, run: func(c *runtime.Comm) error {
		if c.Rank() == 2 {
			return nil
		}
		part, err := c.Split(0, 0)
		if err != nil {
			return err
		}
		return part.Close()
	}},
	{name: "collective on a communicator that is closed", finds: `communicator was closed`, run: func(c *runtime.Comm) error {
		dup, err := closedDup(c)
		if err != nil {
			return err
		}
		return collectives.Barrier(dup)
	}},
	{name: "receive for a message of a collective", finds: `deadlock`, run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			return collectives.Bcast(c, one(), 0)
		}
		return failure(runtime.Recv(c, room(1), 0, runtime.AnyTag))
	}},
}
