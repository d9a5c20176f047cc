package npb

// Transform transforms columns of length n. The values of point p are at x[at[p]:].
func Transform(n, columns int, x []complex128, at []int, inverse bool) {
	newTransform(n, columns/lanes).turn(x, at, x, at, inverse)
}

// Lines transforms eight rows of length n.
func Lines(n int, x []complex128, inverse bool) {
	newTransform(n, 1).lines(x, inverse)
}
