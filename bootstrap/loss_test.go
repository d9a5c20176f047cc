package bootstrap_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// BenchmarkLossOfAll measures the time in which the launcher handles the loss of all ranks of a world, one
// after the other. Each node has 100 ranks. The nodes are connected by 32 links, as in gorun's trees, or by
// one link for each node.
func BenchmarkLossOfAll(b *testing.B) {
	for _, size := range []int{25_000, 50_000, 100_000} {
		for name, links := range map[string]int{"32 links": 32, "a link per node": size / 100} {
			b.Run(fmt.Sprintf("%d ranks, %s", size, name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					s := bootstrap.NewServer(size, func(bootstrap.Event) {})
					for i := range links {
						var ranks []int
						for rank := i * size / links; rank < (i+1)*size/links; rank++ {
							ranks = append(ranks, rank)
						}
						s.Link(ranks, io.Discard)
					}
					for rank := range size {
						s.Gone(rank, "killed")
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size), "ns/loss")
			})
		}
	}
}
