package mpa

import (
	"hash/crc32"
	"sync"
)

// castagnoli is the table of CRC32C, whose polynomial RFC 5044 section 4.4 requires. To make the
// table takes a quarter of a millisecond, which ranks without a network need not spend.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// foldMin is the length from which folding is faster than the standard library, which takes eight
// bytes per instruction.
const foldMin = 1 << 10

// shortMax is the length up to which the standard library spends more time before and after the
// checksum loop than in it.
const shortMax = 256

// Checksum continues the CRC32C of an FPDU over p. The first call takes a crc of zero.
func Checksum(crc uint32, p []byte) uint32 {
	if uint(len(p)-1) < shortMax && sums {
		return ^sum(^crc, &p[0], len(p))
	}
	return checksumLong(crc, p)
}

// checksumLong is Checksum for all p for which Checksum does not call sum directly.
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
