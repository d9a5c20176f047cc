package bootstrap_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// BenchmarkLossOfAll measures the time in which the launcher handles the loss of all ranks of a job, one
// after the other. Each node has 100 ranks. The launcher has 32 links, as at the root of a tree of agents, or
// one link for each node.
func BenchmarkLossOfAll(b *testing.B) {
	for _, size := range []int{25_000, 50_000, 100_000} {
		for name, links := range map[string]int{"32 links": 32, "a link per node": size / 100} {
			b.Run(fmt.Sprintf("%d ranks, %s", size, name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					s := bootstrap.NewServer(size, func(bootstrap.Event) {})
					for i := range links {
						var ranks []int
						for rank := i * size / links; rank < (i+1)*size/links; rank++ {
							ranks = append(ranks, rank)
						}
						s.Link(ranks, io.Discard)
					}
					b.StartTimer()
					for rank := range size {
						s.Gone(rank, "killed")
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size), "ns/loss")
			})
		}
	}
}
