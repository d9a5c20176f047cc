package node_test

import (
	"fmt"
	goruntime "runtime"
	"sync"
	"testing"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/node"
)

var sumFloat32 = message.Reduction{Fn: kernel.Of(kernel.Sum, kernel.Float32), Elem: 4, Commutative: true}

// BenchmarkPair runs two members on threads of their own, and so measures the cost of the
// algorithms when no other goroutine runs between their steps.
func BenchmarkPair(b *testing.B) {
	type run func(g *node.Group, send, recv []byte) error
	for _, c := range []struct {
		name  string
		bytes []int
		run   run
	}{
		{"barrier-flags", []int{0}, func(g *node.Group, _, _ []byte) error { return g.BarrierFlags() }},
		{"barrier-counter", []int{0}, func(g *node.Group, _, _ []byte) error { return g.BarrierCounter() }},
		{"allreduce-exchange", []int{8, 1 << 10, 4 << 10}, func(g *node.Group, s, r []byte) error { return g.AllReduceExchange(s, r, sumFloat32) }},
		{"allreduce-counter", []int{8}, func(g *node.Group, s, r []byte) error { return g.AllReduceCounter(s, r, sumFloat32) }},
		{"allreduce-pair", []int{8 << 10, 64 << 10, 1 << 20, 16 << 20}, func(g *node.Group, s, r []byte) error { return g.AllReducePair(s, r, sumFloat32) }},
		{"allreduce-segments", []int{64 << 10, 1 << 20, 16 << 20}, func(g *node.Group, s, r []byte) error { return g.AllReduceSegments(s, r, sumFloat32) }},
		{"reduce-pipeline", []int{8 << 10, 64 << 10, 1 << 20}, func(g *node.Group, s, r []byte) error { return g.ReducePipeline(s, r, 0, sumFloat32) }},
		{"reduce-segments", []int{8 << 10, 64 << 10, 1 << 20}, func(g *node.Group, s, r []byte) error { return g.ReduceSegments(s, r, 0, sumFloat32) }},
		{"bcast-small", []int{8, 1 << 10}, func(g *node.Group, s, _ []byte) error { return g.BcastSmall(s, 0) }},
		{"bcast-pipeline", []int{64 << 10, 1 << 20, 16 << 20}, func(g *node.Group, s, _ []byte) error { return g.BcastPipeline(s, 0) }},
		{"alltoall-small", []int{8 << 1}, func(g *node.Group, s, r []byte) error { return g.AllToAllSmall(s, r) }},
		{"alltoall-pipeline", []int{64 << 11, 1 << 21}, func(g *node.Group, s, r []byte) error { return g.AllToAllPipeline(s, r) }},
	} {
		for _, n := range c.bytes {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				room := newRoom(2)
				var wg sync.WaitGroup
				for rank := range 2 {
					wg.Go(func() {
						goruntime.LockOSThread()
						defer goruntime.UnlockOSThread()
						g, err := node.New(node.Config{Rank: rank, Size: 2, Open: room.opener()})
						send, recv := make([]byte, n), make([]byte, n)
						for range b.N {
							if err == nil {
								err = c.run(g, send, recv)
							}
						}
						if err != nil {
							b.Error(err)
						}
					})
				}
				wg.Wait()
			})
		}
	}
}
