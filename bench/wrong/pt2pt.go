package main

import (
	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// arguments contains calls with arguments that no rank may pass (ArgError of MPI-CorrBench, invalid parameter
// of the MPI Bugs Initiative).
var arguments = []program{
	{name: "send to a rank that does not exist", finds: `rank out of range: 2`, run: func(c *runtime.Comm) error {
		return runtime.Send(c, one(), c.Size(), 7)
	}},
	{name: "send to a negative rank", finds: `rank out of range: -5`, run: func(c *runtime.Comm) error {
		return runtime.Send(c, one(), -5, 7)
	}},
	{name: "send with a negative tag", finds: `tag out of range: -3`, run: func(c *runtime.Comm) error {
		return runtime.Send(c, one(), 1-c.Rank(), -3)
	}},
	{name: "send with a tag above the largest", finds: `tag out of range`, run: func(c *runtime.Comm) error {
		return runtime.Send(c, one(), 1-c.Rank(), runtime.TagMax+1)
	}},
	{name: "receive from a rank that does not exist", finds: `rank out of range: source 2`, run: func(c *runtime.Comm) error {
		return failure(runtime.Recv(c, room(1), c.Size(), 7))
	}},
	{name: "receive with a negative tag", finds: `tag out of range: -7`, run: func(c *runtime.Comm) error {
		return failure(runtime.Recv(c, room(1), 1-c.Rank(), -7))
	}},
	{name: "probe of a rank that does not exist", finds: `rank out of range: source 2`, run: func(c *runtime.Comm) error {
		return failure(runtime.Probe(c, c.Size(), 7))
	}},
	{name: "send without a communicator", finds: `communicator is nil or of the wrong kind`, run: func(c *runtime.Comm) error {
		return runtime.Send(nil, one(), 1-c.Rank(), 7)
	}},
	{name: "send of elements with pointers", finds: `element type cannot be sent: *int is a pointer`, run: func(c *runtime.Comm) error {
		return runtime.Send(c, []*int{new(int)}, 1-c.Rank(), 7)
	}},
	{name: "send in blocks that overlap", finds: `bad argument: {Count:3 Block:2 Stride:1}`, run: func(c *runtime.Comm) error {
		return runtime.SendStrided(c, room(9), runtime.Strided{Count: 3, Block: 2, Stride: 1}, 1-c.Rank(), 7)
	}},
	{name: "send in blocks beyond the end of the slice", finds: `reaches beyond 6 elements`, run: func(c *runtime.Comm) error {
		return runtime.SendStrided(c, room(6), runtime.Strided{Count: 3, Block: 1, Stride: 3}, 1-c.Rank(), 7)
	}},
	{name: "nonblocking send to a rank that does not exist", finds: `rank out of range: 2`, run: func(c *runtime.Comm) error {
		return failure(runtime.Isend(c, one(), c.Size(), 7).Wait())
	}},
	{name: "nonblocking send to a rank that does not exist, without a wait", finds: `nobody waited for Isend`, run: func(c *runtime.Comm) error {
		runtime.Isend(c, one(), c.Size(), 7)
		return nil
	}},
	{name: "split with a negative color", finds: `color -7 of rank 0`, run: func(c *runtime.Comm) error {
		return failure(c.Split(-7, 0))
	}},
	{name: "group with a rank that does not exist", finds: `rank out of range: 2`, run: func(c *runtime.Comm) error {
		return failure(c.Group().Include(0, c.Size()))
	}},
	{name: "grid of more places than ranks", finds: `a grid of [2 2] has 4 points`, run: func(c *runtime.Comm) error {
		return failure(c.CreateCart([]int{c.Size(), 2}, []bool{false, false}, false))
	}},
}

// matching contains sends and receives that do not match (ArgMismatch, call matching).
var matching = []program{
	{name: "types that differ", finds: `elements of float64, the receive wants int64`, run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			return runtime.Send(c, []float64{1}, 1, 7)
		}
		return failure(runtime.Recv(c, room(1), 0, 7))
	}},
	{name: "structures of other fields", finds: `the receive wants {float64 int64}`, run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			return runtime.Send(c, []struct{ X, Y float64 }{{1, 2}}, 1, 7)
		}
		return failure(runtime.Recv(c, make([]struct {
			X float64
			Y int64
		}, 1), 0, 7))
	}},
	{name: "message longer than the buffer", finds: `longer than the buffer`, run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			return runtime.Send(c, []int{1, 2, 3}, 1, 7)
		}
		return failure(runtime.Recv(c, room(2), 0, 7))
	}},
	{name: "values of other types", finds: `the receive wants []string`, run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			return runtime.SendValue(c, map[string]int{"a": 1}, 1, 7)
		}
		_, _, err := runtime.RecvValue[[]string](c, 0, 7)
		return err
	}},
	{name: "value that is received as elements", finds: `elements of a value, the receive wants int64`, run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			return runtime.SendValue(c, "text", 1, 7)
		}
		return failure(runtime.Recv(c, room(100), 0, 7))
	}},
	{name: "tags that differ", finds: `deadlock`, run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			return runtime.Send(c, one(), 1, 7)
		}
		return failure(runtime.Recv(c, room(1), 0, 8))
	}},
	{name: "receive from the wrong rank", ranks: 3, finds: `deadlock`, run: func(c *runtime.Comm) error {
		switch c.Rank() {
		case 0:
			return runtime.Send(c, one(), 1, 7)
		case 1:
			return failure(runtime.Recv(c, room(1), 2, 7))
		}
		return nil
	}},
	{name: "communicators that differ", finds: `deadlock`, run: func(c *runtime.Comm) error {
		dup, err := c.Dup()
		if err != nil {
			return err
		}
		if c.Rank() == 0 {
			return runtime.Send(dup, one(), 1, 7)
		}
		return failure(runtime.Recv(c, room(1), 0, 7))
	}},
	{name: "exchange with tags that differ", finds: `deadlock`, run: func(c *runtime.Comm) error {
		return failure(runtime.SendRecv(c, one(), 1-c.Rank(), 7+c.Rank(), room(1), 1-c.Rank(), 7+c.Rank()))
	}},
	{name: "send without a receive", finds: `deadlock`, run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			return runtime.Send(c, one(), 1, 7)
		}
		return nil
	}},
	{name: "receive without a send", finds: `deadlock`, run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			return nil
		}
		return failure(runtime.Recv(c, room(1), 0, 7))
	}},
	{name: "two receives for one message", finds: `deadlock`, run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			return runtime.Send(c, one(), 1, 7)
		}
		requests := []runtime.Request{runtime.Irecv(c, room(1), 0, 7), runtime.Irecv(c, room(1), 0, 7)}
		return runtime.WaitAll(requests)
	}},
	{name: "receive from any rank without a send", ranks: 3, finds: `deadlock`, run: func(c *runtime.Comm) error {
		if c.Rank() > 0 {
			return nil
		}
		return failure(runtime.Recv(c, room(1), runtime.AnySource, 7))
	}},
	{name: "probe without a send", finds: `deadlock`, run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			return nil
		}
		return failure(runtime.Probe(c, 0, 7))
	}},
	{name: "message in a Buffer that nobody receives", finds: `not received`, run: func(c *runtime.Comm) error {
		if c.Rank() == 1 {
			return nil
		}
		b, err := runtime.Alloc[int](c.World(), 1)
		if err != nil {
			return err
		}
		return runtime.SendBuffer[int](c, b, 1, 7)
	}},
}

// ordering contains matching calls in an order in which they cannot complete (MisplacedCall, call ordering).
// Some of these programs would complete if the runtime buffered the messages (family "resource" of the MPI
// Bugs Initiative).
var ordering = []program{
	{name: "both receive first", finds: `deadlock`, run: func(c *runtime.Comm) error {
		if _, err := runtime.Recv(c, room(1), 1-c.Rank(), 7); err != nil {
			return err
		}
		return runtime.Send(c, one(), 1-c.Rank(), 7)
	}},
	{name: "both send a padded structure first", finds: `deadlock`, run: func(c *runtime.Comm) error {
		if err := runtime.Send(c, make([]padded, 1), 1-c.Rank(), 7); err != nil {
			return err
		}
		return failure(runtime.Recv(c, make([]padded, 1), 1-c.Rank(), 7))
	}},
	{name: "both send a value first", finds: `deadlock`, run: func(c *runtime.Comm) error {
		if err := runtime.SendValue(c, "text", 1-c.Rank(), 7); err != nil {
			return err
		}
		_, _, err := runtime.RecvValue[string](c, 1-c.Rank(), 7)
		return err
	}},
	{name: "both send blocks first", finds: `deadlock`, run: func(c *runtime.Comm) error {
		if err := runtime.SendStrided(c, room(4), runtime.Strided{Count: 2, Block: 1, Stride: 2}, 1-c.Rank(), 7); err != nil {
			return err
		}
		return failure(runtime.Recv(c, room(2), 1-c.Rank(), 7))
	}},
	{name: "ring of sends", ranks: 4, finds: `deadlock`, run: func(c *runtime.Comm) error {
		if err := runtime.Send(c, one(), (c.Rank()+1)%4, 7); err != nil {
			return err
		}
		return failure(runtime.Recv(c, room(1), (c.Rank()+3)%4, 7))
	}},
	{name: "synchronous send to itself", finds: `deadlock`, run: func(c *runtime.Comm) error {
		if err := runtime.Ssend(c, one(), c.Rank(), 7); err != nil {
			return err
		}
		return failure(runtime.Recv(c, room(1), c.Rank(), 7))
	}},
	{name: "wait for a receive before the send", finds: `deadlock`, run: func(c *runtime.Comm) error {
		if _, err := runtime.Irecv(c, room(1), 1-c.Rank(), 7).Wait(); err != nil {
			return err
		}
		return failure(runtime.Isend(c, one(), 1-c.Rank(), 7).Wait())
	}},
	{name: "messages in the other order", finds: `deadlock`, run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			if err := runtime.Send(c, one(), 1, 7); err != nil {
				return err
			}
			return runtime.Send(c, one(), 1, 8)
		}
		if _, err := runtime.Recv(c, room(1), 0, 8); err != nil {
			return err
		}
		return failure(runtime.Recv(c, room(1), 0, 7))
	}},
	{name: "send around a barrier", finds: `deadlock`, run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			if err := runtime.Send(c, one(), 1, 7); err != nil {
				return err
			}
			return collectives.Barrier(c)
		}
		if err := collectives.Barrier(c); err != nil {
			return err
		}
		return failure(runtime.Recv(c, room(1), 0, 7))
	}},
	{name: "receive before a broadcast of the sender", finds: `deadlock`, run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			if _, err := runtime.Recv(c, room(1), 1, 7); err != nil {
				return err
			}
			return collectives.Bcast(c, one(), 0)
		}
		if err := collectives.Bcast(c, room(1), 0); err != nil {
			return err
		}
		return runtime.Send(c, one(), 0, 7)
	}},
}
