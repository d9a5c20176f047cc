package npb

// Lanes is how many transforms Transform does.
const Lanes = lanes

// Transform does a transform of length n and stores it at x[at[p]:]. It panics when one in
// the own buffers, as the lines of a plane are transformed, is not the same.
func Transform(n int, x []complex128, at []int, inverse bool) {
	f, g := newTransform(n), newTransform(n)
	for p, i := range at {
		copy(f.a[p*lanes:][:lanes], x[i:])
	}
	f.run(f.a, f.packed, f.a, f.packed, inverse)
	g.run(x, at, x, at, inverse)
	for p, i := range at {
		for q := range lanes {
			if x[i+q] != f.a[p*lanes+q] {
				panic("npb: the transform in place differs")
			}
		}
	}
}
