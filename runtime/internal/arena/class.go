package arena

import "math/bits"

const (
	// LargeMin is the size in bytes from which a lease is made of whole pages.
	LargeMin = 64 << 10
	// align is the alignment of small leases: a cache line of amd64 and arm64.
	align = 64
	// stepsLog is the binary logarithm of 4, the number of classes in each doubling of the size.
	// With 4 classes, at most a fifth of a slot of more than 256 bytes is unused.
	stepsLog = 2
	// slabMin is the minimum size of a slab in bytes.
	slabMin = 16 << 10
	// slabSlots is the minimum number of slots of a slab.
	slabSlots = 8
)

// classes is the number of size classes. The slots have 64, 128, 192 or 256 bytes, or one of four
// sizes in each doubling from 256 bytes up to LargeMin.
var classes = classOf(LargeMin) + 1

// classOf returns the class of the smallest slot that holds n bytes, for n
// between 0 and LargeMin.
func classOf(n int) int {
	units := max((n+align-1)/align, 1)
	if units <= 1<<stepsLog {
		return units - 1
	}
	// units is in (2^(e+stepsLog), 2^(e+stepsLog+1)]; the step there is 2^e.
	e := bits.Len(uint(units-1)) - stepsLog - 1
	step := (units + 1<<e - 1) >> e // 5..8
	return e<<stepsLog + step - 1
}

// classSize returns the size in bytes of the slots of a class.
func classSize(class int) int {
	if class < 1<<stepsLog {
		return (class + 1) * align
	}
	e := class>>stepsLog - 1
	step := class&(1<<stepsLog-1) + 1<<stepsLog + 1
	return step << e * align
}
