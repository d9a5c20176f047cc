package row

// The portable loops. The functions use them on processors without vector loops.
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
)
