package kernel

// Kinds is the number of kinds, Other included.
const Kinds = int(kinds)

var kindSizes = [kinds]int{0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 8, 16}

// Size returns the size of an element in bytes, or 0 for Other.
func (k Kind) Size() int { return kindSizes[k] }

var inGo = portable()

// Portable returns the kernel in Go, or nil if the operator is not defined for that kind.
func Portable(c Code, k Kind) Func { return inGo[c][k] }
