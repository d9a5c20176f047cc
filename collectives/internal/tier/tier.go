package tier

import "github.com/gorun-hpc/gorun/collectives/internal/message"

// Tier does the collective operations of its ranks, numbered 0 to Size-1. The rules of buffers are
// those of package message: equal lengths at all ranks, recv of a rooted operation is used at root
// only, and AllReduce, Reduce, Gather, Scatter and AllGather accept their buffers in place. Buffers
// may be empty: then Bcast returns after root has called it, Gather at root after all have.
type Tier interface {
	// Peer sends messages between the ranks.
	message.Peer
	// Barrier returns after all have called it.
	Barrier() error
	// Bcast copies buf of root to all.
	Bcast(buf []byte, root int) error
	// Reduce combines send of all in recv of root.
	Reduce(send, recv []byte, root int, r message.Reduction) error
	// AllReduce combines send of all in recv of all.
	AllReduce(send, recv []byte, r message.Reduction) error
	// Gather lays send of all side by side in recv of root.
	Gather(send, recv []byte, root int) error
	// Scatter gives block i of send of root to recv of rank i.
	Scatter(send, recv []byte, root int) error
	// AllGather lays send of all side by side in recv of all.
	AllGather(send, recv []byte) error
	// AllToAll gives block j of send of rank i to block i of recv of rank j. recv is not send.
	AllToAll(send, recv []byte) error
}

// Subset is the Peer of some ranks of another Peer.
type Subset struct {
	peer    message.Peer
	ranks   []int
	me      int
	scratch []byte
}

var _ message.Peer = (*Subset)(nil)

// NewSubset returns the Peer of ranks of p, of which p's is number me.
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
	return s.peer.Start(s.ranks[to], out, s.ranks[from], in)
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
