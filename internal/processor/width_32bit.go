//go:build 386 || arm || mips || mipsle

package processor

// An int must hold the offsets in the memory of a node, and the words that processes share, which have 64
// bits. On a 32-bit processor, the compiler's error contains the undefined name below, and the name states
// the reason. All packages that need a 64-bit processor import this package.
var _ = gorun_needs_a_64_bit_processor
