package row

// The portable loops. The exported functions use them if the processor cannot run the loops in assembly, or if these do
// not handle a length or a key.
var (
	PortableResidual = residual
	PortableSmooth   = smooth
	PortableRestrict = restrict
	PortableProlong  = prolong
)

var (
	PortableButterflies = butterflies
	PortableHalves      = halves
	PortableSplit       = split
	PortableJoin        = join
	PortableDamp        = damp
	PortableColumns     = columns
	PortableRows        = rows
)

var (
	PortableMultiply   = multiply
	PortableDistribute = distribute
	PortableTally      = tally
)
