package main

import (
	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// components returns, at every rank, a forest in which each tree is a component of rank 0's graph. The forest
// maps a vertex to its parent. The function find returns the root of a vertex's tree, which is the smallest
// vertex of the component.
func components(c *runtime.Comm, graph map[int][]int) (map[int]int, error) {
	parts := make([]map[int][]int, c.Size())
	for i := range parts {
		parts[i] = map[int][]int{}
	}
	for v, to := range graph {
		parts[v%len(parts)][v] = to
	}
	mine, err := collectives.ScatterValues(c, parts, 0)
	if err != nil {
		return nil, err
	}
	return collectives.AllReduceValue(c, forest(mine), func(a, b map[int]int) map[int]int {
		for v, u := range b {
			join(a, v, u)
		}
		return a
	})
}

// forest returns the forest of the components of a part of the graph.
func forest(part map[int][]int) map[int]int {
	f := map[int]int{}
	for v, to := range part {
		join(f, v, v)
		for _, u := range to {
			join(f, v, u)
		}
	}
	return f
}

// join merges the trees of the vertices v and u.
func join(f map[int]int, v, u int) {
	v, u = find(f, v), find(f, u)
	f[max(v, u)] = min(v, u)
}

// find returns the root of a vertex's tree. It makes the root the parent of every vertex on the path to the
// root. A vertex that is not in the forest becomes a tree of its own.
func find(f map[int]int, v int) int {
	root := v
	for up, ok := f[root]; ok && up != root; up, ok = f[root] {
		root = up
	}
	for up, ok := f[v]; ok && v != root; up, ok = f[v] {
		f[v], v = root, up
	}
	if _, ok := f[root]; !ok {
		f[root] = root
	}
	return root
}
