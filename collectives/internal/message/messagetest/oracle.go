package messagetest

import (
	"bytes"
	"fmt"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
)

// Call returns the arguments of a rank, in newly allocated buffers.
func (k Case) Call(rank int) *message.Call {
	l := k.layout(rank)
	c := &message.Call{Send: k.sent(rank), Root: k.Root}
	if l.recvLen > 0 {
		c.Recv = poisoned(l.recvLen)
	}
	if k.Operation.Reduces() {
		c.Reduction = k.Operator.Reduction()
	}
	if k.Operation == message.Bcast && rank == k.Root {
		copy(c.Recv, k.data(rank, l.recvLen))
	}
	c.SendParts, c.RecvParts = l.send, l.recv
	if k.Operation.Neighborhood() {
		c.Sources, c.Dests = k.neighbors(rank, -1), k.neighbors(rank, 1)
	}
	if k.InPlace {
		k.share(rank, c)
	}
	if rank == k.Root || !k.Operation.Rooted() {
		return c
	}
	switch k.Operation { // remove the arguments that only root has
	case message.Reduce, message.Gather, message.GatherV:
		c.Recv = nil
		if k.Operation == message.GatherV {
			c.RecvParts = message.Parts{}
		}
	case message.Scatter, message.ScatterV:
		c.Send = nil
		if k.Operation == message.ScatterV {
			c.SendParts = message.Parts{}
		}
	default:
	}
	return c
}

// share makes the buffers of a call share the memory that the operation permits them to share.
func (k Case) share(rank int, c *message.Call) {
	atRoot := rank == k.Root || !k.Operation.Rooted()
	switch k.Operation {
	case message.Reduce, message.AllReduce, message.Scan, message.ExScan, message.AllToAll:
		c.Recv = c.Send
	case message.Gather, message.GatherV, message.AllGather, message.AllGatherV:
		if atRoot {
			own := c.RecvParts.Of(c.Recv, rank)
			copy(own, c.Send)
			c.Send = own
		}
	case message.Scatter, message.ScatterV, message.ReduceScatter, message.ReduceScatterBlock:
		if atRoot {
			c.Recv = c.SendParts.Of(c.Send, rank)
		}
	default:
	}
}

// sent returns the contents of a rank's send buffer.
func (k Case) sent(rank int) []byte {
	l := k.layout(rank)
	used := rank == k.Root || k.Operation != message.Scatter && k.Operation != message.ScatterV
	if l.sendLen == 0 || !used {
		return nil
	}
	if k.Operation.Neighborhood() {
		return k.neighborSent(rank, l)
	}
	switch k.Operation {
	case message.Scatter, message.ScatterV, message.AllToAll, message.AllToAllV:
		b := poisoned(l.sendLen)
		for i := range k.Ranks {
			copy(l.send.Of(b, i), k.data(k.source(rank, i), l.send.Count(i)))
		}
		return b
	default:
		return k.data(rank, l.sendLen)
	}
}

// source returns the argument source of the method data for the block that one rank sends to another. The
// argument from is the sender, the argument to is the receiver.
func (k Case) source(from, to int) int {
	if k.Operation.Rooted() {
		return to
	}
	return from*k.Ranks + to
}

// Check checks the buffers of a rank after the operation. It returns an error if the receive buffer
// does not have the expected contents or the send buffer has changed.
func (k Case) Check(rank int, c *message.Call) error {
	want := k.received(rank, len(c.Recv))
	if !bytes.Equal(c.Recv, want) {
		return fmt.Errorf("%v: rank %d received %s", k, rank, differs(c.Recv, want))
	}
	sent := k.sent(rank)
	if len(c.Send) == 0 {
		return nil
	}
	if k.InPlace && len(c.Recv) > 0 {
		switch k.Operation {
		case message.Scatter, message.ScatterV, message.ReduceScatter, message.ReduceScatterBlock:
			copy(c.SendParts.Of(sent, rank), want)
		default:
			return nil // Send is part of Recv, which was checked above
		}
	}
	if !bytes.Equal(c.Send, sent) {
		return fmt.Errorf("%v: rank %d changed what it sends: %s", k, rank, differs(c.Send, sent))
	}
	return nil
}

// received returns the expected contents of a rank's Recv of n bytes after the operation.
func (k Case) received(rank, n int) []byte {
	if n == 0 {
		return nil
	}
	l := k.layout(rank)
	if k.Operation.Neighborhood() {
		return k.neighborReceived(rank, l)
	}
	switch k.Operation {
	case message.Bcast:
		return k.data(k.Root, n)
	case message.Reduce, message.AllReduce:
		return k.combined(k.Ranks, n)
	case message.Scan:
		return k.combined(rank+1, n)
	case message.ExScan:
		switch {
		case rank > 0:
			return k.combined(rank, n)
		case k.InPlace:
			return k.data(rank, n)
		}
		return poisoned(n)
	case message.ReduceScatter, message.ReduceScatterBlock:
		return l.send.Of(k.combined(k.Ranks, l.sendLen), rank)
	case message.Scatter, message.ScatterV:
		return k.data(rank, n)
	default:
	}
	b := poisoned(n)
	for i := range k.Ranks {
		source := i
		if k.Operation == message.AllToAll || k.Operation == message.AllToAllV {
			source = k.source(i, rank)
		}
		copy(l.recv.Of(b, i), k.data(source, l.recv.Count(i)))
	}
	return b
}

// differs returns a text that describes the first difference of two buffers.
func differs(got, want []byte) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d bytes, not %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			at := i / Elem * Elem
			return fmt.Sprintf("% x instead of % x at byte %d of %d", got[at:min(at+Elem, len(got))], want[at:min(at+Elem, len(want))], at, len(got))
		}
	}
	return "the same"
}
