package mpa

import (
	"hash/crc32"
	"sync"
)

// castagnoli is CRC32C, the polynomial of RFC 5044 section 4.4. Its tables take a
// quarter of a millisecond, which ranks without a network need not spend.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// foldMin is from where on folding is faster than the standard library's way, which
// takes eight bytes an instruction.
const foldMin = 1 << 10

// shortMax is up to where what the standard library does before and after its sum takes
// longer than the sum.
const shortMax = 256

// Checksum continues the CRC32C of an FPDU over p. It starts as zero.
func Checksum(crc uint32, p []byte) uint32 {
	if uint(len(p)-1) < shortMax && sums {
		return ^sum(^crc, &p[0], len(p))
	}
	return checksumLong(crc, p)
}

// checksumLong is Checksum of what is not short.
func checksumLong(crc uint32, p []byte) uint32 {
	if len(p) < foldMin || !folds {
		return crc32.Update(crc, castagnoli(), p)
	}
	crc, p = foldLong(crc, p)
	if len(p) == 0 {
		return crc
	}
	return ^sum(^crc, &p[0], len(p))
}
