package runtime

import "slices"

// placeVertices assigns the vertices to ranks so that the edges between nodes have a low weight.
// Element v of the result, the order, is the rank that becomes vertex v.
//
// placeVertices visits the vertices in the order of Cuthill and McKee, "Reducing the bandwidth of
// sparse symmetric matrices" (1969): breadth first from a vertex of the lowest degree. It assigns
// the vertices in this order to the ranks sorted by node, so that neighbors are likely to share a
// node. If this does not reduce the weight between nodes, it returns the identity order.
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

// breadthFirst returns all vertices, one connected component after the other, each in
// breadth-first order.
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

// cutWeight returns the total weight of the edges whose ends are on different nodes. In a graph
// without weights each edge counts 1.
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
