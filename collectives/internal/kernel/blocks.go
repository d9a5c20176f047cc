//go:build amd64 || arm64

package kernel

// block is the number of bytes that an assembly body processes at a time: one AVX-512 register, two
// AVX2 registers or four NEON registers.
const block = 64

// body is an assembly loop over n bytes. n is a multiple of block, at least block.
type body func(dst, a, b *byte, n int)

// blocks returns the kernel that calls loop for the whole blocks of the operands, and tail for the
// rest.
func blocks(loop body, tail Func) Func {
	return func(dst, a, b []byte) {
		n := len(dst) &^ (block - 1)
		if n == 0 {
			tail(dst, a, b)
			return
		}
		_, _ = a[n-1], b[n-1]
		loop(&dst[0], &a[0], &b[0], n)
		if n < len(dst) {
			tail(dst[n:], a[n:], b[n:])
		}
	}
}
