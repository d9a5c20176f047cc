package main

import (
	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// resources contains programs that do not close an object, close it twice or too early, or use it after its end
// (resource leak, double free).
var resources = []program{
	{name: "duplicate that stays open", finds: `nobody closed the communicator world.dup`, run: func(c *runtime.Comm) error {
		return failure(c.Dup())
	}},
	{name: "parts that stay open in a loop", finds: `nobody closed the communicator world.split(0) ... (3 times)`, run: func(c *runtime.Comm) error {
		for range 3 {
			if _, err := c.Split(0, 0); err != nil {
				return err
			}
		}
		return nil
	}},
	{name: "part that only one rank closes", finds: `nobody closed the communicator`, run: func(c *runtime.Comm) error {
		part, err := c.Split(0, 0)
		if err != nil || c.Rank() == 1 {
			return err
		}
		return part.Close()
	}},
	{name: "grid that stays open", finds: `nobody closed the communicator`, run: func(c *runtime.Comm) error {
		return failure(c.CreateCart([]int{2}, []bool{true}, false))
	}},
	{name: "two groups that stay connected", finds: `nobody closed the communicator`, run: func(c *runtime.Comm) error {
		own, err := c.Split(c.Rank(), 0)
		if err != nil {
			return err
		}
		if _, err := own.CreateIntercomm(0, c, 1-c.Rank(), 7); err != nil {
			return err
		}
		return own.Close()
	}},
	{name: "Buffer that stays open", finds: `nobody closed the Buffer`, run: func(c *runtime.Comm) error {
		return failure(runtime.Alloc[int](c.World(), 7))
	}},
	{name: "message that stays open", finds: `nobody closed the Message`, run: func(c *runtime.Comm) error {
		if c.Rank() == 1 {
			return runtime.Send(c, one(), 0, 7)
		}
		return failure(runtime.RecvMessage(c, 1, 7))
	}},
	{name: "persistent receive that stays open", finds: `nobody closed the persistent operation`, run: func(c *runtime.Comm) error {
		runtime.RecvInit(c, room(1), 1-c.Rank(), 7)
		return nil
	}},
	{name: "shared memory that stays open", finds: `nobody closed the shared memory`, run: func(c *runtime.Comm) error {
		return failure(runtime.NewShared(c, 64))
	}},
	{name: "communicator closed twice", finds: `communicator was closed`, run: func(c *runtime.Comm) error {
		dup, err := closedDup(c)
		if err != nil {
			return err
		}
		return dup.Close()
	}},
	{name: "the World's communicator is closed", finds: `the communicator of the World ends with World.Close`, run: func(c *runtime.Comm) error {
		return c.Close()
	}},
	{name: "send on a communicator that is closed", finds: `communicator was closed`, run: func(c *runtime.Comm) error {
		dup, err := closedDup(c)
		if err != nil {
			return err
		}
		return runtime.Send(dup, one(), 1-c.Rank(), 7)
	}},
	{name: "communicator closed before its request has ended", finds: `communicator was closed`, run: func(c *runtime.Comm) error {
		dup, err := c.Dup()
		if err != nil {
			return err
		}
		r := runtime.Irecv(dup, room(1), 1-c.Rank(), 7)
		if err := dup.Close(); err != nil {
			return err
		}
		return failure(r.Wait())
	}},
	{name: "Buffer used after it was given away", finds: `does not belong to the caller`, run: func(c *runtime.Comm) error {
		b, err := givenAway(c)
		if err != nil || c.Rank() == 1 {
			return err
		}
		runtime.View[int](b)[0] = 1
		return nil
	}},
	{name: "Buffer given away twice", finds: `does not belong to the caller`, run: func(c *runtime.Comm) error {
		b, err := givenAway(c)
		if err != nil || c.Rank() == 1 {
			return err
		}
		return runtime.SendBuffer[int](c, b, 1, 7)
	}},
	{name: "message used after its Close", finds: `does not belong to the caller`, run: func(c *runtime.Comm) error {
		if c.Rank() == 1 {
			return runtime.Send(c, one(), 0, 7)
		}
		m, err := runtime.RecvMessage(c, 1, 7)
		if err != nil {
			return err
		}
		m.Close()
		m.Bytes()[0] = 1
		return nil
	}},
	{name: "rank that leaves without Close", finds: `without leaving the job`, run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			exit()
		}
		return collectives.Barrier(c)
	}},
}

// closedDup returns a communicator that is closed.
func closedDup(c *runtime.Comm) (*runtime.Comm, error) {
	dup, err := c.Dup()
	if err != nil {
		return nil, err
	}
	return dup, dup.Close()
}

// givenAway returns a Buffer of rank 0 that it has given to rank 1, which has closed it.
func givenAway(c *runtime.Comm) (*runtime.Buffer, error) {
	if c.Rank() == 1 {
		m, err := runtime.RecvMessage(c, 0, 7)
		if err == nil {
			m.Close()
		}
		return nil, err
	}
	b, err := runtime.Alloc[int](c.World(), 1)
	if err != nil {
		return nil, err
	}
	return b, runtime.SendBuffer[int](c, b, 1, 7)
}
