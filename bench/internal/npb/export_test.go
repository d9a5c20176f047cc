package npb

// Transform does transforms of length n of columns values beside each other, at x[at[p]:].
func Transform(n, columns int, x []complex128, at []int, inverse bool) {
	newTransform(n, columns/lanes).turn(x, at, x, at, inverse)
}

// Lines does transforms of length n of eight rows.
func Lines(n int, x []complex128, inverse bool) {
	newTransform(n, 1).lines(x, inverse)
}
