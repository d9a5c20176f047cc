package runtime

import "slices"

// place assigns ranks to the points of the grid so that few neighbors are on different nodes.
// Element p of the result, the order, is the rank at point p. nodes[r] is the node of rank r. If
// the grid has n points, only the first n ranks take part.
//
// place compares several orders, the candidates. The first two candidates are the order of the
// ranks and the ranks sorted by node. If all nodes have the same number of ranks, further
// candidates divide the grid into equal blocks, with one block for each node. Each possible shape
// of a block is a candidate. place chooses the candidate with the fewest pairs of neighbors on
// different nodes. If several candidates have the fewest pairs, place chooses the first of these
// candidates. The method follows Gropp, "Using Node Information to Implement MPI Cartesian
// Topologies" (EuroMPI 2018), which considers only the most cubic shape of a block.
func (g *grid) place(nodes []uint64) []int {
	points := g.points()
	nodes = nodes[:points]
	best := identityOrder(points)
	cost := g.cuts(best, nodes)
	byNode := orderByNode(nodes)
	try := func(order []int) {
		if c := g.cuts(order, nodes); c < cost {
			best, cost = order, c
		}
	}
	try(byNode)
	each := equalParts(byNode, nodes)
	if each == 0 {
		return best
	}
	g.blocks(each, func(block []int) { try(g.tile(block, byNode)) })
	return best
}

// orderByNode returns the ranks sorted by node. The nodes are in the order of their lowest ranks.
func orderByNode(nodes []uint64) []int {
	first := make(map[uint64]int)
	for rank, node := range slices.Backward(nodes) {
		first[node] = rank
	}
	return sortedBy(len(nodes), func(a, b int) int { return first[nodes[a]] - first[nodes[b]] })
}

// equalParts returns the number of ranks on a node if all nodes have the same number of ranks, else
// 0. byNode are the ranks sorted by node.
func equalParts(byNode []int, nodes []uint64) int {
	var counts []int
	for i, rank := range byNode {
		if i == 0 || nodes[rank] != nodes[byNode[i-1]] {
			counts = append(counts, 0)
		}
		counts[len(counts)-1]++
	}
	if len(counts) == 0 || slices.Min(counts) != slices.Max(counts) {
		return 0
	}
	return counts[0]
}

// blocks calls visit with each shape of a block of n points by which the grid can be divided into
// equal blocks.
func (g *grid) blocks(n int, visit func(block []int)) {
	block := make([]int, len(g.dims))
	var choose func(dim, left int)
	choose = func(dim, left int) {
		if dim == len(block) {
			if left == 1 {
				visit(block)
			}
			return
		}
		for size := 1; size <= min(left, g.dims[dim]); size++ {
			if left%size == 0 && g.dims[dim]%size == 0 {
				block[dim] = size
				choose(dim+1, left/size)
			}
		}
	}
	choose(0, n)
}

// tile assigns the ranks, in their order, to the points of the first block, then to the points of the
// next block, and so on. It returns the order as place does.
func (g *grid) tile(block, ranks []int) []int {
	outer := &grid{dims: make([]int, len(block))}
	inner := &grid{dims: block}
	for i, size := range block {
		outer.dims[i] = g.dims[i] / size
	}
	order, n := make([]int, len(ranks)), inner.points()
	at, big := make([]int, len(block)), make([]int, len(block))
	for i, rank := range ranks {
		outer.coords(i/n, big)
		inner.coords(i%n, at)
		point := 0
		for dim, size := range block {
			point = point*g.dims[dim] + big[dim]*size + at[dim]
		}
		order[point] = rank
	}
	return order
}

// cuts returns the number of pairs of neighbors, over all points and dimensions, whose ranks are on
// different nodes.
func (g *grid) cuts(order []int, nodes []uint64) int {
	n := 0
	for point, rank := range order {
		for dim := range g.dims {
			if next := g.step(point, dim, 1); next != ProcNull && nodes[order[next]] != nodes[rank] {
				n++
			}
		}
	}
	return n
}
