package placement

// Tree returns, for each of n agents, the number of its parent. The parent starts the agent. The number -1
// means the launcher. The launcher and every agent have at most radix children. The subtrees of siblings have
// nearly the same size, and the numbers of an agent's descendants follow its own number without a gap.
func Tree(n, radix int) []int {
	parents := make([]int, n)
	spread(parents, 0, -1, radix)
	return parents
}

// spread sets the parents of agents with consecutive numbers. The first number is the parameter from. All these
// agents become descendants of the agent in the parameter parent.
func spread(agents []int, from, parent, radix int) {
	parts := min(radix, len(agents))
	for i := range parts {
		begin, end := i*len(agents)/parts, (i+1)*len(agents)/parts
		agents[begin] = parent
		spread(agents[begin+1:end], from+begin+1, from+begin, radix)
	}
}
