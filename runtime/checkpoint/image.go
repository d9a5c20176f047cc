package checkpoint

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
)

// An image is a copy of a rank's parts in the format below. Save makes a rank's own copy in this format, and
// sends it in this format to a keeper on the same node. Files contain images, too, if a version of this
// package without packed images (packed.go) has written the files.
//
//	offset  bytes  field, little endian
//	0       8      magic
//	8       8      step
//	16      4      size of the communicator
//	20      4      rank in the communicator
//	24      4      number of parts
//	28      4      CRC-32C of all other bytes
//	32      8 each lengths of the parts in bytes, then the parts
const (
	imageMagic  = 0x31544b504b434f47
	imageHeader = 32
	crcOffset   = 28
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// writeImage returns the image of parts. If the capacity of b is large enough, the image is in the
// memory of b; otherwise it is in new memory.
func writeImage(b []byte, step, size, rank int, parts []Part) []byte {
	n := imageLength(parts)
	if cap(b) < n {
		b = make([]byte, n)
	}
	b = b[:n]
	binary.LittleEndian.PutUint64(b, imageMagic)
	binary.LittleEndian.PutUint64(b[8:], uint64(step))
	binary.LittleEndian.PutUint32(b[16:], uint32(size))
	binary.LittleEndian.PutUint32(b[20:], uint32(rank))
	binary.LittleEndian.PutUint32(b[24:], uint32(len(parts)))
	at := imageHeader
	for _, p := range parts {
		binary.LittleEndian.PutUint64(b[at:], uint64(len(p.b)))
		at += 8
	}
	sum := crc32.Update(crc32.Checksum(b[:crcOffset], castagnoli), castagnoli, b[imageHeader:at])
	for _, p := range parts {
		for some := range slices.Chunk(p.b, cachedBytes) {
			to := b[at:][:len(some)]
			at += copy(to, some)
			sum = crc32.Update(sum, castagnoli, to)
		}
	}
	binary.LittleEndian.PutUint32(b[crcOffset:], sum)
	return b
}

// cachedBytes is the length of the pieces in which writeImage copies a part. A piece is added to the
// checksum right after it was copied, while it is still in the processor's cache.
const cachedBytes = 64 << 10

// imageLength returns the length in bytes of the image of parts.
func imageLength(parts []Part) int {
	n := imageHeader + 8*len(parts)
	for _, p := range parts {
		n += len(p.b)
	}
	return n
}

func checksum(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[:crcOffset], castagnoli), castagnoli, b[imageHeader:])
}

// checkImage validates b as an image, packed or not, of a rank, and returns its step. The argument size
// is the number of ranks of the communicator. The error is ErrCorrupt, ErrVersion or ErrShape.
func checkImage(b []byte, size, rank int) (step int, err error) {
	if len(b) < imageHeader {
		return 0, fmt.Errorf("%w: %d bytes of rank %d", ErrCorrupt, len(b), rank)
	}
	if err := checkVersion(b); err != nil {
		return 0, err
	}
	if isPacked(b) {
		return checkPacked(b, size, rank)
	}
	if binary.LittleEndian.Uint64(b) != imageMagic || binary.LittleEndian.Uint32(b[crcOffset:]) != checksum(b) {
		return 0, fmt.Errorf("%w: %d bytes of rank %d", ErrCorrupt, len(b), rank)
	}
	if err := checkPlace(b, size, rank); err != nil {
		return 0, err
	}
	if !fits(b) {
		return 0, fmt.Errorf("%w: %d bytes of rank %d are not those of its parts", ErrCorrupt, len(b), rank)
	}
	return int(binary.LittleEndian.Uint64(b[8:])), nil
}

// isPacked reports whether an image is packed. b contains at least the header; the headers of both
// formats have the same length.
func isPacked(b []byte) bool { return binary.LittleEndian.Uint64(b) == packedMagic }

// checkPlace returns ErrShape if the header of an image names another rank or another size of the
// communicator.
func checkPlace(b []byte, size, rank int) error {
	if s, r := int(binary.LittleEndian.Uint32(b[16:])), int(binary.LittleEndian.Uint32(b[20:])); s != size || r != rank {
		return fmt.Errorf("%w: it is of rank %d of %d, and this is rank %d of %d", ErrShape, r, s, rank, size)
	}
	return nil
}

// fits reports whether the length of an image agrees with the number and the lengths of its parts.
// The image comes from another rank or from a file, so its numbers are not trusted.
func fits(b []byte) bool {
	n, left := uint64(binary.LittleEndian.Uint32(b[24:])), uint64(len(b)-imageHeader)
	if n > left/8 {
		return false
	}
	left -= 8 * n
	for i := range n {
		length := binary.LittleEndian.Uint64(b[imageHeader+8*i:])
		if length > left {
			return false
		}
		left -= length
	}
	return left == 0
}

// checkParts returns ErrShape if the parts of an image differ in number or length from parts. b may
// be only the beginning of the image. If b ends within the lengths of the parts, checkParts compares
// the lengths that b contains.
func checkParts(b []byte, parts []Part) error {
	if n := int(binary.LittleEndian.Uint32(b[24:])); n != len(parts) {
		return fmt.Errorf("%w: it has %d parts, and %d are to be restored", ErrShape, n, len(parts))
	}
	for i, p := range parts {
		at := imageHeader + 8*i
		if at+8 > len(b) {
			break
		}
		if saved := binary.LittleEndian.Uint64(b[at:]); saved != uint64(len(p.b)) {
			return fmt.Errorf("%w: part %d has %d bytes, and %d are to be restored", ErrShape, i, saved, len(p.b))
		}
	}
	return nil
}

// readImage fills parts from an image that checkImage has validated.
func readImage(b []byte, parts []Part) error {
	if err := checkParts(b, parts); err != nil {
		return err
	}
	at := imageHeader + 8*len(parts)
	for _, p := range parts {
		at += copy(p.b, b[at:])
	}
	return nil
}
