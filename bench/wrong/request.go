package main

import (
	"context"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// requests contains nonblocking and persistent operations that are started, waited for or used in a
// wrong way (MissingCall and MisplacedCall of MPI_Wait, request lifecycle, missing wait and start).
var requests = []program{
	{name: "send without a wait", finds: `nobody waited for Isend`, run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			runtime.Isend(c, one(), 1, 7)
			return nil
		}
		return failure(runtime.Recv(c, room(1), 0, 7))
	}},
	{name: "send without a wait, which is complete at once", finds: `nobody waited for Isend`, run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			if err := collectives.Barrier(c); err != nil {
				return err
			}
			runtime.Isend(c, one(), 1, 7)
			return nil
		}
		r := runtime.Irecv(c, room(1), 0, 7)
		if err := collectives.Barrier(c); err != nil {
			return err
		}
		return failure(r.Wait())
	}},
	{name: "receive without a wait", finds: `nobody waited for Irecv`, run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			return runtime.Send(c, one(), 1, 7)
		}
		runtime.Irecv(c, room(1), 0, 7)
		return nil
	}},
	{name: "send of a value without a wait", finds: `nobody waited for Isend`, run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			runtime.IsendValue(c, "text", 1, 7)
			return nil
		}
		_, _, err := runtime.RecvValue[string](c, 0, 7)
		return err
	}},
	{name: "send of blocks without a wait", finds: `nobody waited for Isend`, run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			runtime.IsendStrided(c, room(4), runtime.Strided{Count: 2, Block: 1, Stride: 2}, 1, 7)
			return nil
		}
		return failure(runtime.Recv(c, room(2), 0, 7))
	}},
	{name: "receive of a probed message without a wait", finds: `nobody waited for IrecvMatched`, run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			return runtime.Send(c, one(), 1, 7)
		}
		m, err := runtime.Mprobe(c, 0, 7)
		if err != nil {
			return err
		}
		runtime.IrecvMatched(m, room(1))
		return nil
	}},
	{name: "collective without a wait", finds: `nobody waited for the nonblocking operation`, run: func(c *runtime.Comm) error {
		r := collectives.IAllReduce(c, one(), room(1), collectives.Sum)
		if c.Rank() == 0 {
			return nil
		}
		return failure(r.Wait())
	}},
	{name: "request that the next one replaces", finds: `nobody waited for Isend`, run: func(c *runtime.Comm) error {
		if c.Rank() == 1 {
			if _, err := runtime.Recv(c, room(1), 0, 7); err != nil {
				return err
			}
			return failure(runtime.Recv(c, room(1), 0, 7))
		}
		var r runtime.Request
		for range 2 {
			r = runtime.Isend(c, one(), 1, 7)
		}
		return failure(r.Wait())
	}},
	{name: "one of two requests is waited for", finds: `nobody waited for Irecv`, run: func(c *runtime.Comm) error {
		if c.Rank() == 1 {
			if err := runtime.Send(c, one(), 0, 7); err != nil {
				return err
			}
			return runtime.Send(c, one(), 0, 8)
		}
		requests := []runtime.Request{runtime.Irecv(c, room(1), 1, 7), runtime.Irecv(c, room(1), 1, 8)}
		_, _, err := runtime.WaitAny(requests)
		return err
	}},
	{name: "canceled receive without a wait", finds: `nobody waited for Irecv`, run: func(c *runtime.Comm) error {
		runtime.Irecv(c, room(1), 1-c.Rank(), 7).Cancel()
		return nil
	}},
	{name: "function in the background without a wait", finds: `nobody waited for the nonblocking operation`, run: func(c *runtime.Comm) error {
		runtime.NewRequest(c, func(*runtime.Comm) error { return nil })
		return nil
	}},
	{name: "buffer changed during a send", finds: `was changed before the request had ended`, run: func(c *runtime.Comm) error {
		if c.Rank() == 1 {
			return failure(runtime.Recv(c, room(1), 0, 7))
		}
		b := one()
		r := runtime.Isend(c, b, 1, 7)
		b[0]++
		return failure(r.Wait())
	}},
	{name: "receive into a buffer that is sent", finds: `overlaps that of Isend`, run: func(c *runtime.Comm) error {
		b := one()
		return runtime.WaitAll([]runtime.Request{runtime.Isend(c, b, 1-c.Rank(), 7), runtime.Irecv(c, b, 1-c.Rank(), 7)})
	}},
	{name: "two receives into one buffer", finds: `overlaps that of Irecv`, run: func(c *runtime.Comm) error {
		if c.Rank() == 1 {
			return runtime.WaitAll([]runtime.Request{runtime.Isend(c, room(2), 0, 7), runtime.Isend(c, room(2), 0, 8)})
		}
		b := room(3)
		return runtime.WaitAll([]runtime.Request{runtime.Irecv(c, b[:2], 1, 7), runtime.Irecv(c, b[1:], 1, 8)})
	}},
	{name: "blocking receive into a buffer that is sent", finds: `overlaps that of Isend`, run: func(c *runtime.Comm) error {
		b := one()
		r := runtime.Isend(c, b, 1-c.Rank(), 7)
		if _, err := runtime.Recv(c, b, 1-c.Rank(), 7); err != nil {
			return err
		}
		return failure(r.Wait())
	}},
	{name: "blocking send of a buffer that is received", finds: `overlaps that of Irecv`, run: func(c *runtime.Comm) error {
		b := one()
		r := runtime.Irecv(c, b, 1-c.Rank(), 7)
		if err := runtime.Send(c, b, 1-c.Rank(), 7); err != nil {
			return err
		}
		return failure(r.Wait())
	}},
	{name: "buffer of a nonblocking collective is sent", finds: `overlaps that of the nonblocking operation`, run: func(c *runtime.Comm) error {
		sum := room(1)
		r := collectives.IAllReduce(c, one(), sum, collectives.Sum)
		if _, err := runtime.SendRecv(c, sum, 1-c.Rank(), 7, room(1), 1-c.Rank(), 7); err != nil {
			return err
		}
		return failure(r.Wait())
	}},
	{name: "buffer read before the receive has ended", run: func(c *runtime.Comm) error {
		if c.Rank() == 1 {
			return runtime.Send(c, one(), 0, 7)
		}
		b := room(1)
		r := runtime.Irecv(c, b, 1, 7)
		if b[0] > 1 {
			return nil
		}
		return failure(r.Wait())
	}, missed: "the runtime does not see what the program reads; go test -race with runtime.Local does"},
	{name: "persistent operation that is not started", finds: `deadlock`, run: func(c *runtime.Comm) error {
		if c.Rank() == 1 {
			return failure(runtime.Recv(c, room(1), 0, 7))
		}
		p := runtime.SendInit(c, one(), 1, 7)
		defer p.Close()
		return failure(p.Wait())
	}},
	{name: "persistent operation started twice", finds: `request is in the wrong state: started twice`, run: func(c *runtime.Comm) error {
		p := runtime.RecvInit(c, room(1), 1-c.Rank(), 7)
		defer p.Close()
		if err := p.Start(); err != nil {
			return err
		}
		return p.Start()
	}},
	{name: "persistent operation without a wait", finds: `nobody waited for Irecv`, run: func(c *runtime.Comm) error {
		if c.Rank() == 1 {
			return runtime.Send(c, one(), 0, 7)
		}
		p := runtime.RecvInit(c, room(1), 1, 7)
		defer p.Close()
		return p.Start()
	}},
	{name: "persistent operation started after its end", finds: `request is in the wrong state: closed`, run: func(c *runtime.Comm) error {
		p := runtime.RecvInit(c, room(1), 1-c.Rank(), 7)
		p.Close()
		return p.Start()
	}},
	{name: "probed message that is not received", finds: `deadlock`, run: func(c *runtime.Comm) error {
		if c.Rank() == 1 {
			return runtime.Send(c, one(), 0, 7)
		}
		return failure(runtime.Mprobe(c, 1, 7))
	}},
	{name: "probed message received twice", finds: `the message was received already`, run: func(c *runtime.Comm) error {
		if c.Rank() == 1 {
			return runtime.Send(c, one(), 0, 7)
		}
		m, err := runtime.Mprobe(c, 1, 7)
		if err != nil {
			return err
		}
		if _, err := runtime.RecvMatched(m, room(1)); err != nil {
			return err
		}
		return failure(runtime.RecvMatched(m, room(1)))
	}},
	{name: "error of a receive that is dropped with its request", finds: `nobody waited for Irecv`, run: func(c *runtime.Comm) error {
		ctx, cancel := context.WithCancel(context.Background())
		runtime.Irecv(c.WithContext(ctx), room(1), 1-c.Rank(), 7)
		cancel()
		return nil
	}},
}
