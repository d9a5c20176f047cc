package row

// The portable loops, which the functions use where there are no vector loops.
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
