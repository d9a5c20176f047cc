package tier

import (
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/node"
)

// Memory is the tier of two or more ranks that share memory.
type Memory struct {
	message.Peer
	group   *node.Group
	crowded bool
	// alone is true if root combines all contributions of a long Reduce alone, because this is fastest.
	alone bool
	// small and element are the first two results of node.Limits, in bytes.
	small, element int
}

var _ Tier = (*Memory)(nil)

// NewMemory returns the tier of the members of g. p sends messages between them. crowded is
// node.Config.Crowded. cramped is true if crowded is true and the members share few processors.
func NewMemory(p message.Peer, g *node.Group, crowded, cramped bool) *Memory {
	m := &Memory{Peer: p, group: g, crowded: crowded, alone: cramped || p.Size() == 2}
	m.small, m.element, _ = node.Limits(p.Size(), crowded)
	return m
}

// fewRanks is the largest number of members at which, in a small AllReduce, every member reads the contributions of
// all others, if each member has a processor.
const fewRanks = 8

// Barrier implements Tier.
func (m *Memory) Barrier() error {
	if m.crowded || m.Size() > node.FlagsMax {
		return m.group.BarrierCounter()
	}
	return m.group.BarrierFlags()
}

// Bcast implements Tier.
func (m *Memory) Bcast(buf []byte, root int) error {
	if len(buf) <= m.small {
		return m.group.BcastSmall(buf, root)
	}
	return m.group.BcastPipeline(buf, root)
}

// Reduce implements Tier.
func (m *Memory) Reduce(send, recv []byte, root int, r message.Reduction) error {
	switch {
	case len(send) <= m.small:
		return m.group.ReduceSmall(send, recv, root, r)
	case r.Elem > m.element:
		return message.ReduceOrdered(m.Peer, &message.Call{Send: send, Recv: recv, Root: root, Reduction: r})
	case m.alone:
		return m.group.ReducePipeline(send, recv, root, r)
	}
	return m.group.ReduceSegments(send, recv, root, r)
}

// AllReduce implements Tier.
func (m *Memory) AllReduce(send, recv []byte, r message.Reduction) error {
	switch {
	case len(send) <= m.small && !m.crowded && m.Size() <= fewRanks:
		return m.group.AllReduceExchange(send, recv, r)
	case len(send) <= m.small:
		return m.group.AllReduceCounter(send, recv, r)
	case r.Elem > m.element:
		return message.AllReduceRecursiveDoubling(m.Peer, &message.Call{Send: send, Recv: recv, Reduction: r})
	case m.Size() == 2:
		return m.group.AllReducePair(send, recv, r)
	}
	return m.group.AllReduceSegments(send, recv, r)
}

// Gather implements Tier.
func (m *Memory) Gather(send, recv []byte, root int) error {
	if len(send) <= m.small {
		return m.group.GatherSmall(send, recv, root)
	}
	return m.group.GatherPipeline(send, recv, root)
}

// Scatter implements Tier.
func (m *Memory) Scatter(send, recv []byte, root int) error {
	if len(recv)*m.Size() <= m.small {
		return m.group.ScatterSmall(send, recv, root)
	}
	return m.group.ScatterPipeline(send, recv, root)
}

// AllGather implements Tier.
func (m *Memory) AllGather(send, recv []byte) error {
	if len(send) <= m.small {
		return m.group.AllGatherSmall(send, recv, message.Equal(len(send)))
	}
	return m.group.AllGatherPipeline(send, recv, message.Equal(len(send)))
}

// AllToAll implements Tier.
func (m *Memory) AllToAll(send, recv []byte) error {
	if len(send) <= m.small {
		return m.group.AllToAllSmall(send, recv)
	}
	return m.group.AllToAllPipeline(send, recv)
}
