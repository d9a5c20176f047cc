// Package kernel combines two vectors of elements with a reduction operator:
// dst[i] = op(a[i], b[i]). The vectors are byte slices, so that the algorithms that
// use them need no type parameters.
//
// Every operator has a portable implementation in Go. The common operators also have implementations in
// assembly: with AVX2 and AVX-512 on amd64, and with NEON on arm64. On amd64 the program chooses the
// fastest implementation for the processor when it starts. Each element of the result has the same bits
// as with the portable implementation. So a result depends on the order of the operands, but not on the
// machine. (There are two exceptions: the payload of a NaN, and the rounding of a product of complex
// numbers, because on arm64 Go fuses a multiplication and an addition.)
//
// # Semantics
//
//   - Integers wrap around, as in Go.
//   - Min and Max of floats are Go's min and max: NaN if either operand is NaN,
//     and -0 is less than +0.
//   - LAnd, LOr and LXor take zero as false and give 1 or 0.
package kernel
