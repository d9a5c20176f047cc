package mpa

import "golang.org/x/sys/cpu"

const (
	// foldUnit is the number of bytes that fold processes per step.
	foldUnit = 256
	// foldMost bounds the bytes of one call of fold, because Go cannot preempt the call.
	foldMost = 64 << 10
)

// folds reports whether the processor multiplies four polynomials per instruction (VPCLMULQDQ with
// AVX-512). Folding, the algorithm that uses these instructions, is about three times as fast as
// the CRC32 instruction. Folding speeds up the whole transfer, because both the sender and the
// receiver compute the checksum of every byte.
var folds = cpu.X86.HasAVX512VPCLMULQDQ && cpu.X86.HasAVX512F && cpu.X86.HasSSE42

// sums reports whether the processor has the CRC32 instruction, which processes eight bytes.
var sums = cpu.X86.HasSSE42

// sum continues a CRC32C over n bytes. n is at least 1. remainder and the result are complements of
// the CRC.
//
//go:noescape
func sum(remainder uint32, p *byte, n int) uint32

// foldLong continues a CRC32C over the bytes of p up to the first boundary of a cache line, and over
// the whole units that follow. It returns the CRC and the rest of p.
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

// fold continues a CRC32C over n bytes. n is a positive multiple of foldUnit. remainder and the
// result are complements of the CRC.
//
//go:noescape
func fold(remainder uint32, p *byte, n int) uint32
