package tier

import "github.com/gorun-hpc/gorun/collectives/internal/message"

// These lengths in bytes are the same as in the built-in table of package collectives. Up to the
// lengths whose names begin with short, the algorithm with the fewest messages is the fastest. For
// longer contributions of up to mediumReduce bytes, AllReduce uses Rabenseifner's algorithm; for even
// longer contributions it uses the ring.
const (
	shortBcast     = 32 << 10
	shortReduce    = 8 << 10
	mediumReduce   = 512 << 10
	shortAllGather = 8 << 10
	shortAllToAll  = 256
)

// Messages is the tier of ranks that communicate by messages alone.
type Messages struct {
	message.Peer
	// call holds the arguments of the present operation. It is a field so that an operation does
	// not allocate.
	call message.Call
}

var _ Tier = (*Messages)(nil)

// run runs an algorithm with the arguments c.
func (m *Messages) run(algorithm func(message.Peer, *message.Call) error, c message.Call) error {
	m.call = c
	return algorithm(m.Peer, &m.call)
}

// Barrier implements Tier.
func (m *Messages) Barrier() error { return m.run(message.BarrierDissemination, message.Call{}) }

// Bcast implements Tier.
func (m *Messages) Bcast(buf []byte, root int) error {
	c := message.Call{Recv: buf, Root: root}
	if len(buf) <= shortBcast {
		return m.run(message.BcastBinomial, c)
	}
	return m.run(message.BcastScatterAllGather, c)
}

// Reduce implements Tier.
func (m *Messages) Reduce(send, recv []byte, root int, r message.Reduction) error {
	c := message.Call{Send: send, Recv: recv, Root: root, Reduction: r}
	if r.Commutative {
		return m.run(message.ReduceBinomial, c)
	}
	return m.run(message.ReduceOrdered, c)
}

// AllReduce implements Tier.
func (m *Messages) AllReduce(send, recv []byte, r message.Reduction) error {
	c := message.Call{Send: send, Recv: recv, Reduction: r}
	switch {
	case len(send) <= shortReduce || !r.Commutative:
		return m.run(message.AllReduceRecursiveDoubling, c)
	case len(send) <= mediumReduce:
		return m.run(message.AllReduceRabenseifner, c)
	}
	return m.run(message.AllReduceRing, c)
}

// Gather implements Tier.
func (m *Messages) Gather(send, recv []byte, root int) error {
	return m.run(message.GatherBinomial, message.Call{Send: send, Recv: recv, RecvParts: message.Equal(len(send)), Root: root})
}

// Scatter implements Tier.
func (m *Messages) Scatter(send, recv []byte, root int) error {
	return m.run(message.ScatterBinomial, message.Call{Send: send, Recv: recv, SendParts: message.Equal(len(recv)), Root: root})
}

// AllGather implements Tier.
func (m *Messages) AllGather(send, recv []byte) error {
	c := message.Call{Send: send, Recv: recv, RecvParts: message.Equal(len(send))}
	if len(send) <= shortAllGather {
		return m.run(message.AllGatherBruck, c)
	}
	return m.run(message.AllGatherRing, c)
}

// AllToAll implements Tier.
func (m *Messages) AllToAll(send, recv []byte) error {
	parts := message.Equal(len(send) / m.Size())
	c := message.Call{Send: send, Recv: recv, SendParts: parts, RecvParts: parts}
	if len(send) <= shortAllToAll*m.Size() {
		return m.run(message.AllToAllBruck, c)
	}
	return m.run(message.AllToAllPairwise, c)
}

// Alone is the tier of a single rank. Its operations copy send to recv, or do nothing.
type Alone struct{ message.Peer }

var _ Tier = Alone{}

// Barrier implements Tier.
func (Alone) Barrier() error { return nil }

// Bcast implements Tier.
func (Alone) Bcast([]byte, int) error { return nil }

// Reduce implements Tier.
func (a Alone) Reduce(send, recv []byte, _ int, _ message.Reduction) error {
	a.Copy(recv, send)
	return nil
}

// AllReduce implements Tier.
func (a Alone) AllReduce(send, recv []byte, _ message.Reduction) error {
	a.Copy(recv, send)
	return nil
}

// Gather implements Tier.
func (a Alone) Gather(send, recv []byte, _ int) error {
	a.Copy(recv, send)
	return nil
}

// Scatter implements Tier.
func (a Alone) Scatter(send, recv []byte, _ int) error {
	a.Copy(recv, send)
	return nil
}

// AllGather implements Tier.
func (a Alone) AllGather(send, recv []byte) error {
	a.Copy(recv, send)
	return nil
}

// AllToAll implements Tier.
func (a Alone) AllToAll(send, recv []byte) error {
	a.Copy(recv, send)
	return nil
}
