package program

import (
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// beside calls one operation in each step. The operation is drawn at random, and is the same at all ranks.
// When a generation ends because of the loss of a rank, operations of every kind must end with this loss as
// their error.
func (e *enduring) beside(w *runtime.World, step int) error {
	kinds := []func(*runtime.Comm) error{
		collectives.Barrier, agreed, duplicated, halved, overlapped, probed, shared, persistent, e.visited,
	}
	draw := e.rank.Random(uint32(streamResumeBeside + 64*w.Generation() + step))
	kind := draw.IntN(len(kinds))
	if err := kinds[kind](w.Comm()); err != nil {
		return fmt.Errorf("kind %d: %w", kind, err)
	}
	return nil
}

func agreed(c *runtime.Comm) error {
	flags, err := c.Agree(3)
	if err == nil && flags != 3 {
		err = fmt.Errorf("agreed on %x", flags)
	}
	return err
}

func duplicated(c *runtime.Comm) error {
	d, err := c.Dup()
	if err != nil {
		return err
	}
	return errors.Join(collectives.Barrier(d), d.Close())
}

func halved(c *runtime.Comm) error {
	half, err := c.Split(c.Rank()%2, c.Rank())
	if err != nil {
		return err
	}
	sum := []int32{0}
	err = collectives.AllReduce(half, []int32{1}, sum, collectives.Sum)
	if err == nil && int(sum[0]) != half.Size() {
		err = fmt.Errorf("%d of %d members", sum[0], half.Size())
	}
	return errors.Join(err, half.Close())
}

// overlapped waits for several nonblocking operations with one WaitAll.
func overlapped(c *runtime.Comm) error {
	n := c.Size()
	sums, all, got := []float64{0}, make([]int16, n), []byte{0}
	requests := []runtime.Request{
		collectives.IAllReduce(c, []float64{1}, sums, collectives.Sum),
		collectives.IAllGather(c, []int16{int16(c.Rank())}, all),
		runtime.Irecv(c, got, (c.Rank()+1)%n, 500),
		runtime.Issend(c, []byte{7}, (c.Rank()+n-1)%n, 500),
	}
	if err := runtime.WaitAll(requests); err != nil {
		return err
	}
	if sums[0] != float64(n) || int(all[n-1]) != n-1 || got[0] != 7 {
		return fmt.Errorf("sum %v, gathered %v, received %d", sums[0], all, got[0])
	}
	return nil
}

func probed(c *runtime.Comm) error {
	n := c.Size()
	send := runtime.Isend(c, make([]byte, 10), (c.Rank()+1)%n, 501)
	_, err := runtime.Probe(c, runtime.AnySource, 501)
	if err == nil {
		_, err = runtime.Recv(c, make([]byte, 10), runtime.AnySource, 501)
	}
	_, sent := send.Wait()
	return errors.Join(err, sent)
}

// shared transfers the ownership of a Buffer to the next rank, and receives a Buffer from the previous rank.
func shared(c *runtime.Comm) error {
	n := c.Size()
	b, err := runtime.Alloc[int64](c.World(), 600)
	if err != nil {
		return err
	}
	runtime.View[int64](b)[599] = int64(c.Rank())
	if err := runtime.SendBuffer[int64](c, b, (c.Rank()+1)%n, 502); err != nil {
		return err
	}
	from := (c.Rank() + n - 1) % n
	m, err := runtime.RecvMessage(c, from, 502)
	if err != nil {
		return err
	}
	defer m.Close()
	if got := runtime.SharedView[int64](m.Bytes())[599]; got != int64(from) {
		return fmt.Errorf("%d of rank %d", got, from)
	}
	return nil
}

func persistent(c *runtime.Comm) error {
	n, in := c.Size(), make([]int32, 1)
	list := []*runtime.Persistent{
		runtime.SendInit(c, []int32{9}, (c.Rank()+1)%n, 503), runtime.RecvInit(c, in, (c.Rank()+n-1)%n, 503),
	}
	defer list[0].Close()
	defer list[1].Close()
	for range 2 {
		if err := runtime.StartAll(list); err != nil {
			return err
		}
		_, sent := list[0].Wait()
		_, err := list[1].Wait()
		if err = errors.Join(sent, err); err != nil {
			return err
		}
	}
	if in[0] != 9 {
		return fmt.Errorf("received %d", in[0])
	}
	return nil
}
