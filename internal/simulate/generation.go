package simulate

import (
	"fmt"
	"time"

	"github.com/gorun-hpc/gorun/internal/localjob"
	"github.com/gorun-hpc/gorun/transport"
)

// generation is the network of one generation of a job. In each generation, all ranks have new transports and
// connections, including the survivors.
type generation struct {
	net    *Network
	number int
	ranks  []*node
	pairs  []*pair // n*n for n ranks; from rank f to rank t at index f*n+t
}

var _ localjob.Network = (*generation)(nil)

// generationPairs is the difference between the numbers of the first pairs of two consecutive generations.
// The numbers of their streams of random numbers have the same difference. generationPairs exceeds the number
// of ranks and the number of pairs in a generation.
const generationPairs = 1 << 16

func newGeneration(net *Network, number, n int, seed int64) *generation {
	g := &generation{net: net, number: number}
	first := number * generationPairs
	for rank := range n {
		g.ranks = append(g.ranks, newNode(g, rank, n, stream(seed, streamRanks+uint64(first+rank))))
	}
	for i := range n * n {
		g.pairs = append(g.pairs, &pair{
			number: first + i, from: g.ranks[i/n], to: g.ranks[i%n], random: stream(seed, streamPairs+uint64(first+i)),
		})
	}
	return g
}

// next makes the network of a generation, which becomes the newest generation.
func (net *Network) next(number int, seed int64) *generation {
	net.mu.Lock()
	defer net.mu.Unlock()
	g := newGeneration(net, number, len(net.generations[0].ranks), seed)
	net.generations = append(net.generations[:min(number, len(net.generations))], g)
	net.record.add(net.now(), "generation %d", number)
	return g
}

// Transport implements localjob.Network.
func (g *generation) Transport(rank int) localjob.Transport { return g.ranks[rank] }

// Sleeper implements localjob.Network.
func (g *generation) Sleeper(rank int) transport.Sleeper { return g.ranks[rank].sleeper }

// Explain implements localjob.Network.
func (g *generation) Explain(rank, peer int) string {
	return fmt.Sprintf("rank %d to rank %d: simulated", rank, peer)
}

// pair returns the lane from one rank to another.
func (g *generation) pair(from, to int) *pair { return g.pairs[from*len(g.ranks)+to] }

// vanish schedules, for each other rank of the generation, the event at which that rank notices the loss of
// d. The event comes after all messages of d have arrived, with a delay of at most the duration notice. If
// lossy is true, the event may come before these messages have arrived. The caller holds the network's lock.
func (d *node) vanish(cause error, notice time.Duration, lossy bool) {
	net := d.in.net
	for _, other := range d.in.ranks {
		if other == d {
			continue
		}
		p := d.in.pair(d.rank, other.rank)
		at := max(net.now(), p.last) + 1 + Within(p.random, notice)
		if lossy && Chance(p.random, 0.5) {
			at = net.now() + 1 + Within(p.random, notice)
		}
		net.schedule(p, at, func() { other.markDown(d.rank, cause) })
	}
}
