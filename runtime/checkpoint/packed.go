package checkpoint

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/klauspost/compress/s2"
)

// A packed image is an image divided into blocks, each of which may be compressed. It is the format
// of the copies at a keeper on another node and in files. The lengths of the compressed blocks are
// known only after the last block was compressed. Therefore the table of the lengths and the checksum
// follow the blocks:
//
//	offset  bytes  field, little endian
//	0       8      magic
//	8       8      step
//	16      4      size of the communicator
//	20      4      rank in the communicator
//	24      8      length of the image
//	32             blocks, each for 256 KiB of the image, the last block for the rest
//	        4 each lengths of the blocks; a block shorter than its part of the image is compressed by S2
//	        4      CRC-32C of all preceding bytes
const (
	packedMagic  = 0x32544b504b434f47
	packedHeader = 32
	blockBytes   = 256 << 10
	entryBytes   = 4
	sumBytes     = 4
)

// Each magic consists of a name of seven bytes and an ASCII digit for the version of the format.
const (
	digitShift  = 56
	nameOfMagic = imageMagic & (1<<digitShift - 1)
)

// checkVersion returns ErrVersion for an image of a later version of this package.
func checkVersion(b []byte) error {
	magic := binary.LittleEndian.Uint64(b)
	if digit := byte(magic >> digitShift); magic&(1<<digitShift-1) == nameOfMagic && digit > packedMagic>>digitShift && digit <= '9' {
		return fmt.Errorf("%w: it is of version %c, and this program reads 1 and 2: restore it with the version of gorun that saved it", ErrVersion, digit)
	}
	return nil
}

// blocksOf returns the number of blocks of an image that has this length in bytes.
func blocksOf(length uint64) uint64 {
	n := length / blockBytes
	if length%blockBytes != 0 {
		n++
	}
	return n
}

// packedHead returns the header of the packed image of a rank. length is the length of the image.
func packedHead(step, size, rank, length int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, packedMagic)
	b = binary.LittleEndian.AppendUint64(b, uint64(step))
	b = binary.LittleEndian.AppendUint32(b, uint32(size))
	b = binary.LittleEndian.AppendUint32(b, uint32(rank))
	return binary.LittleEndian.AppendUint64(b, uint64(length))
}

// packedImage is a packed image whose structure parsePacked has validated.
type packedImage struct {
	head, blocks, table []byte
	length              uint64 // length of the image in bytes
}

// parsePacked validates the checksum and the structure of a packed image. The memory that it allocates
// does not depend on the contents of b.
func parsePacked(b []byte) (packedImage, error) {
	corrupt := fmt.Errorf("%w: %d bytes, packed", ErrCorrupt, len(b))
	if len(b) < packedHeader+sumBytes || binary.LittleEndian.Uint64(b) != packedMagic {
		return packedImage{}, corrupt
	}
	body := b[:len(b)-sumBytes]
	if binary.LittleEndian.Uint32(b[len(body):]) != crc32.Checksum(body, castagnoli) {
		return packedImage{}, corrupt
	}
	p := packedImage{head: b[:packedHeader], length: binary.LittleEndian.Uint64(b[24:])}
	count := blocksOf(p.length)
	if p.length < imageHeader || count > uint64(len(body)-packedHeader)/entryBytes {
		return packedImage{}, corrupt
	}
	at := len(body) - int(count)*entryBytes
	p.blocks, p.table = body[packedHeader:at], body[at:]
	for blocks, left := p.blocks, p.length; left > 0 || len(blocks) > 0; {
		block, whole := p.at(blocks, left)
		if block == nil {
			return packedImage{}, corrupt
		}
		blocks, left = blocks[len(block):], left-whole
	}
	return p, nil
}

// at returns the first block in the slice blocks. The result whole is the number of bytes of the
// image that this block holds. The argument left is the number of bytes of the image that these
// blocks hold together. If left is 0 or the length of the block is impossible, block
// is nil.
func (p *packedImage) at(blocks []byte, left uint64) (block []byte, whole uint64) {
	if left == 0 {
		return nil, 0
	}
	whole = min(left, blockBytes)
	i := blocksOf(p.length) - blocksOf(left)
	n := uint64(binary.LittleEndian.Uint32(p.table[i*entryBytes:]))
	if n == 0 || n > whole || n > uint64(len(blocks)) {
		return nil, 0
	}
	block = blocks[:n]
	if n < whole {
		if unpacked, err := s2.DecodedLen(block); err != nil || uint64(unpacked) != whole {
			return nil, 0
		}
	}
	return block, whole
}

// each calls fn for each block in order. The argument whole of fn is the number of bytes of the image
// that the block holds. At the first error of fn, each returns this error.
func (p *packedImage) each(fn func(block []byte, whole int) error) error {
	for blocks, left := p.blocks, p.length; left > 0; {
		block, whole := p.at(blocks, left)
		if err := fn(block, int(whole)); err != nil {
			return err
		}
		blocks, left = blocks[len(block):], left-whole
	}
	return nil
}

// checkPacked validates b as the packed image of a rank, and returns the step of the image. size is the number of
// ranks of the communicator.
func checkPacked(b []byte, size, rank int) (step int, err error) {
	p, err := parsePacked(b)
	if err != nil {
		return 0, fmt.Errorf("%w of rank %d", err, rank)
	}
	if err := checkPlace(p.head, size, rank); err != nil {
		return 0, err
	}
	return int(binary.LittleEndian.Uint64(b[8:])), nil
}

// unpack decompresses a packed image of a rank and returns the image. It returns an error if the image does
// not have the length that parts need. So the memory that unpack allocates depends on parts, and not on the
// length in the packed image, which is not trusted.
func unpack(b []byte, rank int, parts []Part) ([]byte, error) {
	p, err := parsePacked(b)
	if err != nil {
		return nil, fmt.Errorf("%w of rank %d", err, rank)
	}
	n := imageLength(parts)
	if p.length != uint64(n) {
		return nil, p.otherParts(rank, parts)
	}
	image, at := make([]byte, n), 0
	err = p.each(func(block []byte, whole int) error {
		to := image[at:][:whole:whole]
		at += whole
		return unpackBlock(to, block)
	})
	if err != nil {
		return nil, fmt.Errorf("%w: rank %d: %w", ErrCorrupt, rank, err)
	}
	return image, nil
}

// unpackBlock fills the slice to with the bytes of the image that a block holds. The length of this
// slice is the number of these bytes.
func unpackBlock(to, block []byte) error {
	if len(block) == len(to) {
		copy(to, block)
		return nil
	}
	_, err := s2.Decode(to, block)
	return err
}

// otherParts returns the error of unpack for a packed image whose length differs from the length that
// parts need. The error describes the difference between the parts of the image and parts.
func (p *packedImage) otherParts(rank int, parts []Part) error {
	block, whole := p.at(p.blocks, p.length)
	head := make([]byte, whole)
	if err := unpackBlock(head, block); err != nil {
		return fmt.Errorf("%w: rank %d: %w", ErrCorrupt, rank, err)
	}
	if err := checkParts(head, parts); err != nil {
		return err
	}
	lengths := imageHeader + 8*len(parts)
	if p.length < uint64(lengths) || len(head) >= lengths {
		return fmt.Errorf("%w: rank %d: the parts are not as long as the image", ErrCorrupt, rank)
	}
	return fmt.Errorf("%w: its parts have %d bytes together, and %d are to be restored", ErrShape, p.length-uint64(lengths), imageLength(parts)-lengths)
}
