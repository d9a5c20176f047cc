package tier

import "github.com/gorun-hpc/gorun/collectives/internal/message"

// Tier implements the collective operations of its ranks, numbered 0 to Size-1. The rules for buffers
// are the same as in package message: lengths are equal at all ranks; only root uses recv of Reduce
// and Gather, and send of Scatter. In AllReduce and Reduce, send and recv may be the same
// memory. In Gather, Scatter and AllGather, the caller's block may be its own block in the other buffer
// (MPI_IN_PLACE). Buffers may be empty. Even with empty buffers, Bcast does not return before root
// has called it, and Gather does not return at root before all ranks have called it.
type Tier interface {
	// Peer sends messages between the ranks.
	message.Peer
	// Barrier returns when all ranks have called it.
	Barrier() error
	// Bcast copies buf of root to buf of all ranks.
	Bcast(buf []byte, root int) error
	// Reduce combines send of all ranks into recv of root.
	Reduce(send, recv []byte, root int, r message.Reduction) error
	// AllReduce combines send of all ranks into recv of every rank.
	AllReduce(send, recv []byte, r message.Reduction) error
	// Gather concatenates send of all ranks, in rank order, in recv of root.
	Gather(send, recv []byte, root int) error
	// Scatter copies block i of send of root to recv of rank i.
	Scatter(send, recv []byte, root int) error
	// AllGather concatenates send of all ranks, in rank order, in recv of every rank.
	AllGather(send, recv []byte) error
	// AllToAll copies block j of send of rank i to block i of recv of rank j. recv and send must be
	// different buffers.
	AllToAll(send, recv []byte) error
}

// Subset is a Peer whose ranks are some of the ranks of another Peer.
type Subset struct {
	peer    message.Peer
	ranks   []int
	me      int
	scratch []byte
}

var _ message.Peer = (*Subset)(nil)

// NewSubset returns a Peer whose rank i is rank ranks[i] of p. me is the index of p's own rank in
// ranks. The Subset keeps the slice ranks.
func NewSubset(p message.Peer, ranks []int, me int) *Subset {
	return &Subset{peer: p, ranks: ranks, me: me}
}

// Rank implements message.Peer.
func (s *Subset) Rank() int { return s.me }

// Size implements message.Peer.
func (s *Subset) Size() int { return len(s.ranks) }

// Send implements message.Peer.
func (s *Subset) Send(to int, b []byte) error { return s.peer.Send(s.ranks[to], b) }

// Recv implements message.Peer.
func (s *Subset) Recv(from int, b []byte) error { return s.peer.Recv(s.ranks[from], b) }

// Exchange implements message.Peer.
func (s *Subset) Exchange(to int, out []byte, from int, in []byte) error {
	return s.peer.Exchange(s.ranks[to], out, s.ranks[from], in)
}

// Start implements message.Peer.
func (s *Subset) Start(to int, out []byte, from int, in []byte) error {
	return s.peer.Start(s.among(to), out, s.among(from), in)
}

// among returns the rank in the Peer of a rank of s. It returns message.Nobody for message.Nobody.
func (s *Subset) among(rank int) int {
	if rank == message.Nobody {
		return message.Nobody
	}
	return s.ranks[rank]
}

// Complete implements message.Peer.
func (s *Subset) Complete() error { return s.peer.Complete() }

// Scratch implements message.Peer.
func (s *Subset) Scratch(n int) []byte {
	if cap(s.scratch) < n {
		s.scratch = make([]byte, n)
	}
	return s.scratch[:n]
}

// Copy implements message.Peer.
func (s *Subset) Copy(dst, src []byte) int { return s.peer.Copy(dst, src) }
