package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// search returns, for each vertex, the smallest vertex of its component. It searches from each vertex, in ascending
// order, that no earlier search has reached.
func search(graph map[int][]int) map[int]int {
	both := map[int][]int{}
	for v, to := range graph {
		for _, u := range to {
			both[v], both[u] = append(both[v], u), append(both[u], v)
		}
	}
	roots := map[int]int{}
	for v := range len(graph) { // vertices in ascending order
		if _, seen := roots[v]; seen {
			continue
		}
		roots[v] = v
		for todo := []int{v}; len(todo) > 0; todo = todo[1:] {
			for _, u := range both[todo[0]] {
				if _, seen := roots[u]; !seen {
					roots[u] = v
					todo = append(todo, u)
				}
			}
		}
	}
	return roots
}

// TestComponents checks that both versions find, at every rank, the components that search finds.
func TestComponents(t *testing.T) {
	for seed, size := range map[uint64][3]int{1: {1, 0, 1}, 2: {50, 20, 3}, 3: {300, 250, 4}, 4: {300, 400, 7}, 5: {2000, 1900, 2}, 6: {3, 2, 5}} {
		graph := random(size[0], size[1], seed)
		want := search(graph)
		for name, find := range map[string]func(*runtime.Comm, map[int][]int) (map[int]int, error){"values": components, "bytes": componentsOfBytes} {
			require.NoError(t, runtime.Local(size[2], func(w *runtime.World) error {
				var mine map[int][]int
				if w.Rank() == 0 {
					mine = graph
				}
				labels, err := find(w.Comm(), mine)
				if err != nil {
					return err
				}
				return same(want, labels)
			}), "%s of seed %d", name, seed)
		}
	}
}

// same compares the roots of a forest with the expected roots.
func same(want, labels map[int]int) error {
	if len(want) != len(labels) {
		return fmt.Errorf("%d vertices, not %d", len(labels), len(want))
	}
	for v, root := range want {
		if got := find(labels, v); got != root {
			return fmt.Errorf("vertex %d is in the component of %d, not %d", v, got, root)
		}
	}
	return nil
}

// TestLineCounts compares the numbers of lines that the package comment states with the real numbers.
func TestLineCounts(t *testing.T) {
	lines := func(file string, functions ...string) (n int) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, f := range functions {
			_, body, ok := strings.Cut(string(text), "\nfunc "+f+"(")
			require.True(t, ok, f)
			body, _, ok = strings.Cut(body, "\n}\n")
			require.True(t, ok, f)
			n += strings.Count(body, "\n") + 2
		}
		return n
	}
	values, bytes := lines("components.go", "components"), lines("bytes_test.go", "componentsOfBytes", "graphOf", "pairs")
	text, err := os.ReadFile("main.go")
	require.NoError(t, err)
	comment := strings.ReplaceAll(strings.ReplaceAll(string(text), "\n//", ""), "\n", " ")
	require.Contains(t, comment, fmt.Sprintf("communication is in components.go, in %d lines.", values))
	require.Contains(t, comment, fmt.Sprintf("slices of bytes and lengths, in %d lines", bytes))
	require.LessOrEqual(t, 2*values, bytes)
}
