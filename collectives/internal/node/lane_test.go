package node_test

import (
	"fmt"
	"sync"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/node"
)

// lane holds the messages from one member to another. sent is the number of messages ever sent.
type lane struct {
	mu    sync.Mutex // guards queue
	queue [][]byte
	sent  node.Word
}

// peer is the message.Peer of a member. It waits by the methods of mem.
type peer struct {
	room     *room
	mem      node.Memory
	rank     int
	received []uint64
	started  []started
}

// started is the receiving half of an exchange that Start has begun.
type started struct {
	from int
	in   []byte
}

// peers holds the peer of every *node.Group.
var peers sync.Map

func peerOf(g *node.Group) *peer {
	p, _ := peers.Load(g)
	return p.(*peer)
}

func (r *room) peer(rank int, mem node.Memory) *peer {
	return &peer{room: r, mem: mem, rank: rank, received: make([]uint64, r.size)}
}

func (p *peer) Rank() int { return p.rank }
func (p *peer) Size() int { return p.room.size }

func (p *peer) Send(to int, b []byte) error {
	l := &p.room.lanes[p.rank][to]
	l.mu.Lock()
	l.queue = append(l.queue, append([]byte(nil), b...))
	sent := uint64(len(l.queue))
	l.mu.Unlock()
	p.mem.Signal(&l.sent, sent)
	return nil
}

func (p *peer) Recv(from int, b []byte) error {
	l := &p.room.lanes[from][p.rank]
	p.received[from]++
	if err := p.mem.Await(&l.sent, p.received[from]); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	got := l.queue[p.received[from]-1]
	if len(got) != len(b) {
		return fmt.Errorf("%w: %d bytes, not %d", message.ErrLength, len(got), len(b))
	}
	copy(b, got)
	return nil
}

func (p *peer) Exchange(to int, out []byte, from int, in []byte) error {
	if err := p.Send(to, out); err != nil {
		return err
	}
	return p.Recv(from, in)
}

func (p *peer) Start(to int, out []byte, from int, in []byte) error {
	if from != message.Nobody {
		p.started = append(p.started, started{from, in})
	}
	if to == message.Nobody {
		return nil
	}
	return p.Send(to, out)
}

func (p *peer) Complete() error {
	for _, s := range p.started {
		if err := p.Recv(s.from, s.in); err != nil {
			return err
		}
	}
	p.started = nil
	return nil
}

func (*peer) Scratch(n int) []byte     { return make([]byte, n) }
func (*peer) Copy(dst, src []byte) int { return kernel.Copy(dst, src) }
