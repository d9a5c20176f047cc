package main

import (
	"errors"
	"time"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// rights contains correct programs. Some of them look like wrong ones.
var rights = []program{
	{name: "ping-pong", run: func(c *runtime.Comm) error {
		for range 100 {
			if c.Rank() == 0 {
				if err := runtime.Send(c, one(), 1, 7); err != nil {
					return err
				}
			}
			if _, err := runtime.Recv(c, room(1), 1-c.Rank(), 7); err != nil {
				return err
			}
			if c.Rank() == 1 {
				if err := runtime.Send(c, one(), 0, 7); err != nil {
					return err
				}
			}
		}
		return nil
	}},
	{name: "ring with a nonblocking receive", ranks: 4, run: func(c *runtime.Comm) error {
		r := runtime.Irecv(c, room(1), (c.Rank()+3)%4, 7)
		if err := runtime.Send(c, one(), (c.Rank()+1)%4, 7); err != nil {
			return err
		}
		return failure(r.Wait())
	}},
	{name: "exchange", run: func(c *runtime.Comm) error {
		b := room(1000)
		if _, err := runtime.SendRecv(c, b, 1-c.Rank(), 7, room(1000), 1-c.Rank(), 7); err != nil {
			return err
		}
		return failure(runtime.SendRecvReplace(c, b, 1-c.Rank(), 7, 1-c.Rank(), 7))
	}},
	{name: "message to itself", run: func(c *runtime.Comm) error {
		r := runtime.Irecv(c, room(1), c.Rank(), 7)
		if err := runtime.Send(c, one(), c.Rank(), 7); err != nil {
			return err
		}
		return failure(r.Wait())
	}},
	{name: "message shorter than the buffer", run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			return runtime.Send(c, one(), 1, 7)
		}
		return failure(runtime.Recv(c, room(10), 0, 7))
	}},
	{name: "messages received in the other order", run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			return runtime.WaitAll([]runtime.Request{runtime.Isend(c, one(), 1, 7), runtime.Isend(c, one(), 1, 8)})
		}
		if _, err := runtime.Recv(c, room(1), 0, 8); err != nil {
			return err
		}
		return failure(runtime.Recv(c, room(1), 0, 7))
	}},
	{name: "no neighbor at the edge", run: func(c *runtime.Comm) error {
		up, down := c.Rank()+1, c.Rank()-1
		if up == c.Size() {
			up = runtime.ProcNull
		}
		if down < 0 {
			down = runtime.ProcNull
		}
		return failure(runtime.SendRecv(c, one(), up, 7, room(1), down, 7))
	}},
	{name: "one buffer in two sends at a time", run: func(c *runtime.Comm) error {
		if c.Rank() == 1 {
			return runtime.WaitAll([]runtime.Request{runtime.Irecv(c, room(1), 0, 7), runtime.Irecv(c, room(1), 0, 7)})
		}
		b := one()
		return runtime.WaitAll([]runtime.Request{runtime.Isend(c, b, 1, 7), runtime.Isend(c, b, 1, 7)})
	}},
	{name: "parts of one buffer", run: func(c *runtime.Comm) error {
		b := room(4)
		return runtime.WaitAll([]runtime.Request{
			runtime.Irecv(c, b[:1], 1-c.Rank(), 7), runtime.Irecv(c, b[1:2], 1-c.Rank(), 8),
			runtime.Isend(c, b[2:3], 1-c.Rank(), 7), runtime.Isend(c, b[3:], 1-c.Rank(), 8),
		})
	}},
	{name: "second wait for a request", run: func(c *runtime.Comm) error {
		r, s := runtime.Irecv(c, room(1), 1-c.Rank(), 7), runtime.Isend(c, one(), 1-c.Rank(), 7)
		_, err1 := r.Wait()
		_, err2 := r.Wait()
		_, err3 := s.Wait()
		return errors.Join(err1, err2, err3)
	}},
	{name: "request that is tested until it ends", run: func(c *runtime.Comm) error {
		if c.Rank() == 1 {
			time.Sleep(50 * time.Millisecond)
			return runtime.Send(c, one(), 0, 7)
		}
		r := runtime.Irecv(c, room(1), 1, 7)
		for {
			if _, done, err := r.Test(); done || err != nil {
				return err
			}
		}
	}},
	{name: "canceled receive", run: func(c *runtime.Comm) error {
		r := runtime.Irecv(c, room(1), 1-c.Rank(), 7)
		r.Cancel()
		if _, err := r.Wait(); !errors.Is(err, runtime.ErrCanceled) {
			return err
		}
		return nil
	}},
	{name: "requests as they end", run: func(c *runtime.Comm) error {
		requests := []runtime.Request{
			runtime.Irecv(c, room(1), 1-c.Rank(), 7), runtime.Irecv(c, room(1), 1-c.Rank(), 8),
			runtime.Isend(c, one(), 1-c.Rank(), 8), runtime.Isend(c, one(), 1-c.Rank(), 7),
		}
		for range requests {
			if _, _, err := runtime.WaitAny(requests); err != nil {
				return err
			}
		}
		return nil
	}},
	{name: "persistent operations", run: func(c *runtime.Comm) error {
		operations := []*runtime.Persistent{runtime.RecvInit(c, room(1), 1-c.Rank(), 7), runtime.SendInit(c, one(), 1-c.Rank(), 7)}
		for range 3 {
			if err := runtime.StartAll(operations); err != nil {
				return err
			}
			for _, p := range operations {
				if _, err := p.Wait(); err != nil {
					return err
				}
			}
		}
		for _, p := range operations {
			p.Close()
		}
		return nil
	}},
	{name: "persistent collective that is not closed", run: func(c *runtime.Comm) error {
		p := collectives.BarrierInit(c)
		if err := p.Start(); err != nil {
			return err
		}
		return failure(p.Wait())
	}},
	{name: "probes", run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			for range 3 {
				if err := runtime.Send(c, []int{1, 2, 3}, 1, 7); err != nil {
					return err
				}
			}
			return nil
		}
		s, err := runtime.Probe(c, runtime.AnySource, runtime.AnyTag)
		if err != nil {
			return err
		}
		if _, err := runtime.Recv(c, room(s.Bytes/8), s.Source, s.Tag); err != nil {
			return err
		}
		m, err := runtime.Mprobe(c, 0, 7)
		if err != nil {
			return err
		}
		if _, err := runtime.RecvMatched(m, room(3)); err != nil {
			return err
		}
		if m, err = runtime.Mprobe(c, 0, 7); err != nil {
			return err
		}
		return failure(runtime.IrecvMatched(m, room(3)).Wait())
	}},
	{name: "values, blocks and Buffers", run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			b, err := runtime.Alloc[int](c.World(), 9)
			if err != nil {
				return err
			}
			return errors.Join(
				runtime.SendValue(c, map[string]int{"a": 1}, 1, 7),
				failure(runtime.IsendValue(c, "text", 1, 7).Wait()),
				runtime.SendStrided(c, room(9), runtime.Strided{Count: 3, Block: 1, Stride: 3}, 1, 7),
				runtime.Send(c, make([]padded, 2), 1, 7),
				runtime.SendBuffer[int](c, b, 1, 7),
			)
		}
		_, _, err1 := runtime.RecvValue[map[string]int](c, 0, 7)
		_, _, err2 := runtime.RecvValue[string](c, 0, 7)
		_, err3 := runtime.RecvStrided(c, room(9), runtime.Strided{Count: 3, Block: 1, Stride: 3}, 0, 7)
		_, err4 := runtime.Recv(c, make([]padded, 2), 0, 7)
		m, err5 := runtime.RecvMessage(c, 0, 7)
		if err5 == nil {
			m.Close()
		}
		return errors.Join(err1, err2, err3, err4, err5)
	}},
	{name: "receive whose sender starts later", ranks: 3, run: func(c *runtime.Comm) error {
		switch c.Rank() {
		case 1:
			return runtime.Send(c, one(), 0, 7)
		case 2:
			if _, err := runtime.Recv(c, room(1), 0, 8); err != nil {
				return err
			}
			return runtime.Send(c, one(), 0, 7)
		}
		if _, err := runtime.Recv(c, room(1), runtime.AnySource, 7); err != nil {
			return err
		}
		if err := runtime.Send(c, one(), 2, 8); err != nil {
			return err
		}
		return failure(runtime.Recv(c, room(1), runtime.AnySource, 7))
	}},
	{name: "work for the rank that asks first", ranks: 4, run: farm},
	{name: "many collectives", ranks: 3, run: collectiveTour},
	{name: "nonblocking collective beside messages", run: func(c *runtime.Comm) error {
		sum := room(1)
		r := collectives.IAllReduce(c, one(), sum, collectives.Sum)
		if _, err := runtime.SendRecv(c, one(), 1-c.Rank(), 7, room(1), 1-c.Rank(), 7); err != nil {
			return err
		}
		return failure(r.Wait())
	}},
	{name: "reduce in place", ranks: 3, run: func(c *runtime.Comm) error {
		b := one()
		if err := collectives.AllReduce(c, b, b, collectives.Sum); err != nil {
			return err
		}
		if c.Rank() == 0 {
			return collectives.Reduce(c, b, b, collectives.Sum, 0)
		}
		return collectives.Reduce(c, b, nil, collectives.Sum, 0)
	}},
	{name: "collectives of parts", ranks: 4, run: func(c *runtime.Comm) error {
		part, err := c.Split(c.Rank()%2, 0)
		if err != nil {
			return err
		}
		if c.Rank()%2 == 0 {
			err = collectives.Barrier(part)
		} else {
			err = collectives.AllReduce(part, one(), room(1), collectives.Sum)
		}
		return errors.Join(err, part.Close())
	}},
	{name: "grid and its neighbors", ranks: 4, run: func(c *runtime.Comm) error {
		grid, err := c.CreateCart([]int{2, 2}, []bool{true, true}, false)
		if err != nil {
			return err
		}
		return errors.Join(collectives.NeighborAllGather(grid.Comm, one(), room(4)), grid.Close())
	}},
	{name: "shared memory", run: func(c *runtime.Comm) error {
		s, err := runtime.NewShared(c, 64)
		if err != nil {
			return err
		}
		return errors.Join(collectives.Barrier(c), s.Close())
	}},
	{name: "rank that computes while others wait", ranks: 3, run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			for start := time.Now(); time.Since(start) < busy; {
				continue
			}
		}
		return collectives.Barrier(c)
	}},
	{name: "rank that sleeps while others wait", ranks: 3, run: func(c *runtime.Comm) error {
		if c.Rank() == 0 {
			time.Sleep(busy)
		}
		return collectives.Barrier(c)
	}},
	{name: "goroutine that sends later", run: func(c *runtime.Comm) error {
		sent := make(chan error, 1)
		go func() {
			time.Sleep(busy)
			sent <- runtime.Send(c, one(), 1-c.Rank(), 7)
		}()
		_, err := runtime.Recv(c, room(1), 1-c.Rank(), 7)
		return errors.Join(err, <-sent)
	}},
}

// busy is longer than the time for which gorun waits before it searches for a deadlock.
const busy = 2500 * time.Millisecond

// farm is a program in which rank 0 gives each piece of work to the rank that asks first. A rank asks by a
// message to rank 0. The program is correct for every order of these messages. Rank 0 begins only when every
// other rank has already posted the send of its first message.
func farm(c *runtime.Comm) error {
	const pieces = 20
	if c.Rank() > 0 {
		piece := room(1)
		question := runtime.Isend(c, one(), 0, 7)
		if err := collectives.Barrier(c); err != nil {
			return err
		}
		if _, err := question.Wait(); err != nil {
			return err
		}
		for {
			if _, err := runtime.Recv(c, piece, 0, 8); err != nil || piece[0] == 0 {
				return err
			}
			if err := runtime.Send(c, one(), 0, 7); err != nil {
				return err
			}
		}
	}
	if err := collectives.Barrier(c); err != nil {
		return err
	}
	for i := range pieces + c.Size() - 1 {
		s, err := runtime.Recv(c, room(1), runtime.AnySource, 7)
		if err != nil {
			return err
		}
		if err := runtime.Send(c, []int{max(0, pieces-i)}, s.Source, 8); err != nil {
			return err
		}
	}
	return nil
}

// collectiveTour calls many collective operations.
func collectiveTour(c *runtime.Comm) error {
	n := c.Size()
	return errors.Join(
		collectives.Barrier(c),
		collectives.Bcast(c, room(5), 1),
		collectives.Reduce(c, room(5), room(5), collectives.Max, 2),
		collectives.Gather(c, one(), room(n), 0),
		collectives.Scatter(c, room(n), room(1), 1),
		collectives.AllGather(c, one(), room(n)),
		collectives.AllToAll(c, room(n), room(n)),
		collectives.Scan(c, one(), room(1), collectives.Sum),
		collectives.ExScan(c, one(), room(1), collectives.Sum),
		collectives.ReduceScatterBlock(c, room(n), room(1), collectives.Sum),
		failure(collectives.BcastValue(c, "text", 0)),
		failure(collectives.IBarrier(c).Wait()),
	)
}
