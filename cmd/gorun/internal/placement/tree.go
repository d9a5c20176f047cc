package placement

// Tree returns, for each of n agents, the one that starts it, -1 for the launcher. Nobody
// starts more than radix, and the agents below each are about as many and follow it.
func Tree(n, radix int) []int {
	parents := make([]int, n)
	spread(parents, 0, -1, radix)
	return parents
}

// spread divides agents, of which the first has the number from, among the children of one.
func spread(agents []int, from, parent, radix int) {
	parts := min(radix, len(agents))
	for i := range parts {
		begin, end := i*len(agents)/parts, (i+1)*len(agents)/parts
		agents[begin] = parent
		spread(agents[begin+1:end], from+begin+1, from+begin, radix)
	}
}
