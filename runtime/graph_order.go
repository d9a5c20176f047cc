package runtime

import "slices"

// placeVertices returns the order in which ranks become vertices so that light edges are
// between nodes: order[v] is the rank at vertex v.
//
// Vertices are visited in the order of Cuthill and McKee, "Reducing the bandwidth of sparse
// symmetric matrices" (1969), breadth first from a vertex of the lowest degree, and given to
// the ranks in the order of their nodes: neighbors come close to each other. The order of the
// ranks stays unless the other one is better.
func placeVertices(all []vertex, nodes []uint64) []int {
	best := identityOrder(len(all))
	byNode, walk := orderByNode(nodes), breadthFirst(all)
	order := make([]int, len(all))
	for i, v := range walk {
		order[v] = byNode[i]
	}
	if cutWeight(all, order, nodes) < cutWeight(all, best, nodes) {
		return order
	}
	return best
}

// breadthFirst returns all vertices, those of each component breadth first.
func breadthFirst(all []vertex) []int {
	around := make([][]int, len(all)) // neighbors by edges of either direction
	for v := range all {
		for _, to := range all[v].dests {
			around[v], around[to] = append(around[v], to), append(around[to], v)
		}
	}
	byDegree := func(a, b int) int { return len(around[a]) - len(around[b]) }
	seen := make([]bool, len(all))
	walk := make([]int, 0, len(all))
	for _, start := range sortedBy(len(all), byDegree) {
		for queue := []int{start}; len(queue) > 0; {
			next := queue[0]
			queue = queue[1:]
			if seen[next] {
				continue
			}
			seen[next] = true
			walk = append(walk, next)
			near := slices.Clone(around[next])
			slices.SortStableFunc(near, byDegree)
			queue = append(queue, near...)
		}
	}
	return walk
}

// cutWeight is the weight of the edges between nodes; one without a weight has 1.
func cutWeight(all []vertex, order []int, nodes []uint64) int {
	sum := 0
	for v := range all {
		for i, to := range all[v].dests {
			weight := 1
			if all[v].destWeights != nil {
				weight = all[v].destWeights[i]
			}
			if nodes[order[v]] != nodes[order[to]] {
				sum += weight
			}
		}
	}
	return sum
}
