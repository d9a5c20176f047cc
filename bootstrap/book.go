package bootstrap

import (
	"encoding/binary"
	"fmt"
)

// Book holds the cards of all ranks of a world. It never changes.
//
// Encoded, little endian: 4 bytes number of ranks, then per rank 2 bytes
// length of its card and the card; length 0 stands for a rank that was gone
// before it had a card.
type Book struct {
	cards []byte
	at    []int // offset of each rank's card in cards, -1 without card
}

// Size returns the number of ranks.
func (b *Book) Size() int { return len(b.at) }

// Card returns the card of a rank; false if the rank had none because it
// ended before it joined.
func (b *Book) Card(rank int) (Card, bool) {
	if rank < 0 || rank >= len(b.at) || b.at[rank] < 0 {
		return Card{}, false
	}
	c, _, err := ParseCard(b.cards[b.at[rank]:])
	return c, err == nil
}

// appendBook appends a book made of encoded cards; nil for a missing one.
func appendBook(dst []byte, cards [][]byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(cards)))
	for _, c := range cards {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(len(c)))
		dst = append(dst, c...)
	}
	return dst
}

// parseBook checks b, which the book keeps, and indexes it.
func parseBook(b []byte) (*Book, error) {
	if len(b) < 4 {
		return nil, fmt.Errorf("bootstrap: book of %d bytes: %w", len(b), ErrMalformed)
	}
	size := int(binary.LittleEndian.Uint32(b))
	if size < 1 || size > sizeMax || size > (len(b)-4)/2 {
		return nil, fmt.Errorf("bootstrap: book of %d ranks in %d bytes: %w", size, len(b), ErrMalformed)
	}
	book := &Book{cards: b, at: make([]int, size)}
	pos := 4
	for rank := range size {
		if len(b)-pos < 2 {
			return nil, fmt.Errorf("bootstrap: book ends before rank %d: %w", rank, ErrMalformed)
		}
		n := int(binary.LittleEndian.Uint16(b[pos:]))
		pos += 2
		if n > len(b)-pos {
			return nil, fmt.Errorf("bootstrap: book ends within rank %d: %w", rank, ErrMalformed)
		}
		book.at[rank] = -1
		if n == 0 {
			continue
		}
		c, used, err := ParseCard(b[pos : pos+n])
		if err != nil {
			return nil, fmt.Errorf("rank %d: %w", rank, err)
		}
		if used != n || c.Rank != rank {
			return nil, fmt.Errorf("bootstrap: book has the card of rank %d for rank %d: %w", c.Rank, rank, ErrMalformed)
		}
		book.at[rank] = pos
		pos += n
	}
	if pos != len(b) {
		return nil, fmt.Errorf("bootstrap: %d bytes after the book: %w", len(b)-pos, ErrMalformed)
	}
	return book, nil
}
