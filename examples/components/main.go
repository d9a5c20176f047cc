// Command components finds the connected components of a random graph, a map[int][]int that rank 0 makes.
// Rank 0 scatters the graph, and each rank computes the components of its part. A reduction joins the results
// of the ranks in pairs.
//
// The graph and the results are sent as typed values. All the communication is in components.go, in 19 lines.
// For comparison, bytes_test.go does the same with slices of bytes and lengths, in 93 lines.
//
//	gorun -np 4 ./examples/components -n 100000 -edges 90000
package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/gorun-hpc/gorun/examples/internal/options"
	"github.com/gorun-hpc/gorun/runtime"
)

func main() {
	n := options.Int("n", 10_000, 1, "`number` of vertices")
	edges := options.Int("edges", 8_000, 0, "`number` of edges")
	options.Parse()
	runtime.Main(func(w *runtime.World) error {
		var graph map[int][]int
		if w.Rank() == 0 {
			graph = random(*n, *edges, 1)
		}
		labels, err := components(w.Comm(), graph)
		if err == nil && w.Rank() == 0 {
			count, largest := sizes(labels)
			fmt.Printf("%d components of %d vertices, the largest has %d\n", count, len(labels), largest)
		}
		return err
	})
}

// random returns a graph with n vertices and the given number of directed edges.
func random(n, edges int, seed uint64) map[int][]int {
	r := rand.New(rand.NewPCG(seed, 0))
	graph := make(map[int][]int, n)
	for v := range n {
		graph[v] = nil
	}
	for range edges {
		v := r.IntN(n)
		graph[v] = append(graph[v], r.IntN(n))
	}
	return graph
}

// sizes returns the number of components and the number of vertices of the largest component.
func sizes(labels map[int]int) (count, largest int) {
	members := map[int]int{}
	for v := range labels {
		root := find(labels, v)
		members[root]++
		largest = max(largest, members[root])
	}
	return len(members), largest
}
