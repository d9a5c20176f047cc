//go:build 386 || arm || mips || mipsle

package processor

// Offsets in the memory of a node and the words that processes share have 64 bits, and
// an int must hold them. The compiler's error contains the undefined name, which states the
// reason. All packages that need a 64-bit processor import this package.
var _ = gorun_needs_a_64_bit_processor
