package mpa

import "golang.org/x/sys/cpu"

const (
	// foldUnit is what fold takes at a time.
	foldUnit = 256
	// foldMost bounds one call: Go cannot interrupt it.
	foldMost = 64 << 10
)

// folds says that the processor multiplies polynomials four at a time. It folds some
// three times as fast as CRC32 instructions sum, which shows where a sender and a
// receiver checksum every byte.
var folds = cpu.X86.HasAVX512VPCLMULQDQ && cpu.X86.HasAVX512F && cpu.X86.HasSSE42

// sums says that the processor sums eight bytes an instruction.
var sums = cpu.X86.HasSSE42

// sum continues the remainder of a CRC32C, which is not inverted as the CRC is, over n
// bytes, at least one.
//
//go:noescape
func sum(remainder uint32, p *byte, n int) uint32

// foldLong continues a CRC32C over whole units of p and returns what is left of it.
func foldLong(crc uint32, p []byte) (uint32, []byte) {
	crc = ^crc
	if n := ahead(p); n > 0 {
		crc, p = sum(crc, &p[0], n), p[n:]
	}
	for len(p) >= foldUnit {
		n := min(len(p), foldMost) &^ (foldUnit - 1)
		crc = fold(crc, &p[0], n)
		p = p[n:]
	}
	return ^crc, p
}

// fold continues the remainder of a CRC32C, which is not inverted as the CRC is, over
// n bytes, a multiple of foldUnit and at least one.
//
//go:noescape
func fold(remainder uint32, p *byte, n int) uint32
