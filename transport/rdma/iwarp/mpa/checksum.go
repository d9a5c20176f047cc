package mpa

import (
	"hash/crc32"
	"sync"
)

// castagnoli is the table of CRC32C, whose polynomial RFC 5044 section 4.4 requires. The table is
// made on first use, because making the table takes a quarter of a millisecond, and ranks without a
// network do not need the table.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// foldMin is the minimum length in bytes for which folding (see folds) is faster than the standard
// library. The standard library processes eight bytes per instruction.
const foldMin = 1 << 10

// shortMax is a length in bytes. If data are at most this long, the standard library spends more
// time before and after its checksum loop than in the loop.
const shortMax = 256

// Checksum continues the CRC32C of an FPDU over p. crc is the result of the previous call, or zero
// in the first call.
func Checksum(crc uint32, p []byte) uint32 {
	if uint(len(p)-1) < shortMax && sums {
		return ^sum(^crc, &p[0], len(p))
	}
	return checksumLong(crc, p)
}

// checksumLong computes the result of Checksum in the cases in which Checksum does not call sum
// directly.
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
