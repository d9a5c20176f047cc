package bootstrap

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// Book holds the cards of all ranks of a world. gorun never changes it.
//
// The encoded book is little endian. It begins with the number of ranks (4 bytes). The offset of each rank's
// card (4 bytes for each rank) and the offset of the end of the last card (4 bytes) follow. The cards are at
// the end. Offsets are counted from the first byte of the cards. If the card of a rank has no bytes, the rank
// ended or left before it handed in a card. If the node memory has a [Shelf] with room for the book, the agent
// stores one encoded book there, and all ranks of the node read that copy.
type Book struct {
	raw  []byte
	size int
}

// bookHead returns the number of bytes before the cards in the book of a world of size ranks.
func bookHead(size int) int { return 4 + 4*(size+1) }

// bookBytesMax returns the largest length of the book of a world of size ranks.
func bookBytesMax(size int) int { return bookHead(size) + size*CardBytesMax }

// Size returns the number of ranks.
func (b *Book) Size() int { return b.size }

// Card returns the card of a rank. It returns false if the rank has no card because it ended, or left by
// Finalize, before it joined. It also returns false if the card is malformed or there is no such rank.
func (b *Book) Card(rank int) (Card, bool) {
	if rank < 0 || rank >= b.size {
		return Card{}, false
	}
	raw := b.card(rank)
	if len(raw) == 0 {
		return Card{}, false
	}
	c, n, err := ParseCard(raw)
	return c, err == nil && n == len(raw) && c.Rank == rank
}

// card returns the bytes of a rank's card. It returns no bytes if the offsets are not within the book. It
// checks the offsets at each call, because other ranks of the node can write to the memory of the book.
func (b *Book) card(rank int) []byte {
	at := 4 + 4*rank
	begin, end := int(binary.LittleEndian.Uint32(b.raw[at:])), int(binary.LittleEndian.Uint32(b.raw[at+4:]))
	cards := b.raw[bookHead(b.size):]
	if begin > end || end > len(cards) {
		return nil
	}
	return cards[begin:end]
}

// appendBook appends an encoded book. The elements of cards are the encoded cards in rank order. If a rank
// has no card, its element is nil.
func appendBook(dst []byte, cards [][]byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(cards)))
	at := uint32(0)
	for _, c := range cards {
		dst = binary.LittleEndian.AppendUint32(dst, at)
		at += uint32(len(c))
	}
	dst = binary.LittleEndian.AppendUint32(dst, at)
	for _, c := range cards {
		dst = append(dst, c...)
	}
	return dst
}

// openBook returns the book that is encoded in b. openBook does not check the cards. The book refers to the
// memory of b.
func openBook(b []byte) (*Book, error) {
	if len(b) < 4 {
		return nil, fmt.Errorf("bootstrap: book of %d bytes: %w", len(b), ErrMalformed)
	}
	size := int(binary.LittleEndian.Uint32(b))
	if size < 1 || size > sizeMax || bookHead(size) > len(b) {
		return nil, fmt.Errorf("bootstrap: book of %d ranks in %d bytes: %w", size, len(b), ErrMalformed)
	}
	return &Book{raw: b, size: size}, nil
}

// parseBook checks all of b and returns the book that is encoded in b. The book refers to the memory of b.
func parseBook(b []byte) (*Book, error) {
	book, err := openBook(b)
	if err != nil {
		return nil, err
	}
	end := 0
	for rank := range book.size {
		at := int(binary.LittleEndian.Uint32(b[4+4*rank:]))
		raw := book.card(rank)
		if at != end {
			return nil, fmt.Errorf("bootstrap: card of rank %d at %d of the book, not %d: %w", rank, at, end, ErrMalformed)
		}
		end += len(raw)
		if len(raw) == 0 {
			continue
		}
		c, used, err := ParseCard(raw)
		if err != nil {
			return nil, fmt.Errorf("rank %d: %w", rank, err)
		}
		if used != len(raw) || c.Rank != rank {
			return nil, fmt.Errorf("bootstrap: book has the card of rank %d for rank %d: %w", c.Rank, rank, ErrMalformed)
		}
	}
	if last := int(binary.LittleEndian.Uint32(b[4+4*book.size:])); last != end || bookHead(book.size)+end != len(b) {
		return nil, fmt.Errorf("bootstrap: book of %d bytes ends at %d: %w", len(b), bookHead(book.size)+end, ErrMalformed)
	}
	return book, nil
}

// packedHead is the number of bytes before the cards of a packed book.
const packedHead = 4 + 4 + sha256.Size

// packBook returns a packed book, which is the form in which a book is sent to other nodes. A packed book
// consists of 4 bytes epoch, 4 bytes number of ranks, the SHA-256 of the encoded book, and the packed cards.
// The epoch is the number of books that were sent earlier in the same generation.
func packBook(book []byte, cards [][]byte, epoch uint32) ([]byte, error) {
	packed, err := packCards(cards)
	sum := sha256.Sum256(book)
	head := binary.LittleEndian.AppendUint32(nil, epoch)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(cards)))
	return append(append(head, sum[:]...), packed...), err
}

// unpackBook converts a packed book into an encoded book. The packed book must have this epoch and this
// number of ranks.
func unpackBook(b []byte, epoch uint32, size int) ([]byte, error) {
	if len(b) < packedHead {
		return nil, fmt.Errorf("bootstrap: packed book of %d bytes: %w", len(b), ErrMalformed)
	}
	got, ranks := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	if got != epoch || uint64(ranks) != uint64(size) {
		return nil, fmt.Errorf("bootstrap: packed book %d of %d ranks, want %d of %d: %w", got, ranks, epoch, size, ErrMalformed)
	}
	list, err := unpackCards(b[packedHead:], size)
	if err != nil {
		return nil, err
	}
	cards := make([][]byte, size)
	for _, c := range list {
		if cards[c.Rank], err = c.Append(make([]byte, 0, c.Len())); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
	}
	book := appendBook(nil, cards)
	if sha256.Sum256(book) != [sha256.Size]byte(b[8:packedHead]) {
		return nil, fmt.Errorf("bootstrap: packed book with another hash: %w", ErrMalformed)
	}
	return book, nil
}
