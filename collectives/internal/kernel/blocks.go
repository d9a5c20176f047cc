//go:build amd64 || arm64

package kernel

// block is the unit of the assembly bodies in bytes: one AVX-512 register, two AVX2 registers or
// four NEON registers.
const block = 64

// body is an assembly loop over whole blocks: n bytes, a multiple of block.
type body func(dst, a, b *byte, n int)

// blocks returns the kernel that runs loop over the whole blocks and tail over
// the rest.
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
