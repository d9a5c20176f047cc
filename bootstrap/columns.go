package bootstrap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// columns is the form in which the cards of many ranks are sent. Each field of the cards is a column that has
// the values of all ranks. Values that several ranks have in common are in tables. Numbers are sent as
// differences, because many of them grow from rank to rank. If many ranks share a node, a card of 100 bytes takes
// about 10 bytes in this form, and less than 10 bytes after compression.
//
// Before compression by zstd, packed cards consist of the number of cards as uvarint, and the columns in the
// following order. Each column is preceded by its length as uvarint. Each number in a column is encoded as
// the zigzag varint of its difference from the previous number of the column. The first number is encoded as
// its difference from 0. The column of ranks has other differences.
//
//	rank        rank - previous rank - 1; the rank before the first card counts as -1
//	pid
//	slot
//	node        index into nodes; for the first card of a node, the index at which its entry is appended to nodes
//	provider    index into providers, in the same way
//	addresses   number of addresses of the card
//	ip          for each address, index into ips, in the same way
//	port        for each address
//	data        length of the card's data
//	nodes       table; an entry is 16 bytes node, and the host as a string
//	providers   table; an entry is a string
//	ips         table; an entry is 16 bytes
//	bytes       data of all cards, one after the other
//
// A string is encoded as a uvarint length and its bytes.
type columns struct {
	numbers [colNumbers][]byte
	last    [colNumbers]int
	tables  [colTables][]byte
	index   [colTables]map[string]int
	count   int
}

// Indices of columns.numbers, followed by indices of columns.tables.
const (
	colRank = iota
	colPID
	colSlot
	colNode
	colProvider
	colAddresses
	colIP
	colPort
	colData
	colNumbers
)

const (
	colNodes = iota
	colProviders
	colIPs
	colBytes
	colTables
)

// columnsBytesMax bounds the length of unpacked columns, whatever the number of ranks is.
const columnsBytesMax = 1 << 30

// unpackedMax returns the largest length of the unpacked columns of a world of size ranks.
func unpackedMax(size int) int {
	const (
		number    = binary.MaxVarintLen64
		head      = (1 + colNumbers + colTables) * number
		addresses = 255 * (2*number + 16)
		card      = colNumbers*number + addresses + 16 + 2*(2+255) + DataBytesMax
	)
	return min(columnsBytesMax, head+min(size, columnsBytesMax/card)*card)
}

// codec returns the encoder and the decoder, which may be used from any goroutine.
var codec = sync.OnceValues(func() (*zstd.Encoder, *zstd.Decoder) {
	// With the option WithSingleSegment, the header contains the unpacked length, which unpackCards checks.
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithSingleSegment(true))
	if err != nil {
		panic(err) // the options are constants
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(columnsBytesMax), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err)
	}
	return enc, dec
})

// packCards packs encoded cards, which must be in ascending order of their ranks. It skips elements of cards
// that are nil.
func packCards(cards [][]byte) ([]byte, error) {
	var c columns
	for i := range c.index {
		c.index[i] = map[string]int{}
	}
	c.last[colRank] = -1
	for _, raw := range cards {
		if raw == nil {
			continue
		}
		card, _, err := ParseCard(raw)
		if err != nil {
			return nil, err
		}
		c.add(card)
	}
	flat := binary.AppendUvarint(nil, uint64(c.count))
	for _, column := range c.numbers {
		flat = append(binary.AppendUvarint(flat, uint64(len(column))), column...)
	}
	for _, table := range c.tables {
		flat = append(binary.AppendUvarint(flat, uint64(len(table))), table...)
	}
	enc, _ := codec()
	return enc.EncodeAll(flat, nil), nil
}

func (c *columns) add(card Card) {
	c.count++
	c.number(colRank, card.Rank-1)
	c.last[colRank] = card.Rank
	c.number(colPID, card.PID)
	c.number(colSlot, card.Slot)
	c.entry(colNode, colNodes, append(card.Node[:len(card.Node):len(card.Node)], text(card.Host)...))
	c.entry(colProvider, colProviders, text(card.Provider))
	c.number(colAddresses, len(card.Addresses))
	for _, a := range card.Addresses {
		c.entry(colIP, colIPs, a.IP[:])
		c.number(colPort, int(a.Port))
	}
	c.number(colData, len(card.Data))
	c.tables[colBytes] = append(c.tables[colBytes], card.Data...)
}

func (c *columns) number(column, v int) {
	c.numbers[column] = binary.AppendVarint(c.numbers[column], int64(v-c.last[column]))
	c.last[column] = v
}

// entry appends the index of a value to a column. A value that is not in the table yet is appended to
// the table.
func (c *columns) entry(column, table int, value []byte) {
	i, ok := c.index[table][string(value)]
	if !ok {
		i = len(c.index[table])
		c.index[table][string(value)] = i
		c.tables[table] = append(c.tables[table], value...)
	}
	c.number(column, i)
}

func text(s string) []byte { return append(binary.AppendUvarint(nil, uint64(len(s))), s...) }

// unpackCards is the inverse of packCards. All ranks must be below size.
func unpackCards(packed []byte, size int) ([]Card, error) {
	// The header has the unpacked length. unpackCards checks this length before it allocates memory. For this
	// reason, the book of a small world cannot claim as much memory as the book of a large world.
	var head zstd.Header
	most := unpackedMax(size)
	if err := head.Decode(packed); err != nil || !head.HasFCS || head.FrameContentSize > uint64(most) {
		return nil, fmt.Errorf("bootstrap: packed cards of %d bytes for %d ranks, want at most %d: %w", head.FrameContentSize, size, most, errors.Join(ErrMalformed, err))
	}
	_, dec := codec()
	flat, err := dec.DecodeAll(packed, make([]byte, 0, head.FrameContentSize))
	if err != nil {
		return nil, fmt.Errorf("bootstrap: packed cards: %w: %w", ErrMalformed, err)
	}
	all := scanner{rest: flat}
	count := all.uvarint(size)
	var u unpacking
	for i := range u.numbers {
		u.numbers[i].rest = all.take(all.uvarint(len(flat)))
	}
	for i := range u.tables {
		u.tables[i].rest = all.take(all.uvarint(len(flat)))
	}
	// A card has at least one byte in the column of ranks. Because of this check, a count that is larger than
	// the number of cards is refused before memory for that many cards is allocated.
	if all.bad || len(all.rest) > 0 || count > len(u.numbers[colRank].rest) {
		return nil, fmt.Errorf("bootstrap: %d packed cards in %d bytes: %w", count, len(flat), ErrMalformed)
	}
	u.last[colRank] = -1
	cards := make([]Card, 0, count)
	for range count {
		card, ok := u.card(size)
		if !ok {
			return nil, fmt.Errorf("bootstrap: packed card %d of %d: %w", len(cards), count, ErrMalformed)
		}
		cards = append(cards, card)
	}
	for _, s := range append(u.numbers[:], u.tables[:]...) {
		if len(s.rest) > 0 {
			return nil, fmt.Errorf("bootstrap: %d bytes after a column of packed cards: %w", len(s.rest), ErrMalformed)
		}
	}
	return cards, nil
}

// unpacking is the state of unpackCards.
type unpacking struct {
	numbers   [colNumbers]scanner
	last      [colNumbers]int
	tables    [colTables]scanner
	nodes     []nodeEntry
	providers []string
	ips       [][16]byte
	bad       bool
}

type nodeEntry struct {
	node NodeID
	host string
}

// card returns the next card. It returns false if the card is malformed.
func (u *unpacking) card(size int) (Card, bool) {
	before := u.last[colRank]
	c := Card{Rank: u.number(colRank, size) + 1}
	u.last[colRank] = c.Rank
	c.PID, c.Slot = u.number(colPID, 1<<31-1), u.number(colSlot, 1<<31-1)
	n := lookUp(u, colNode, &u.nodes, func() nodeEntry {
		return nodeEntry{node: NodeID(u.tables[colNodes].array()), host: u.tables[colNodes].text()}
	})
	c.Node, c.Host = n.node, n.host
	c.Provider = lookUp(u, colProvider, &u.providers, u.tables[colProviders].text)
	for range u.number(colAddresses, 255) {
		ip := lookUp(u, colIP, &u.ips, u.tables[colIPs].array)
		c.Addresses = append(c.Addresses, Address{IP: ip, Port: uint16(u.number(colPort, 1<<16-1))})
	}
	if n := u.number(colData, DataBytesMax); n > 0 {
		c.Data = u.tables[colBytes].take(n)
	}
	for _, t := range u.tables {
		u.bad = u.bad || t.bad
	}
	return c, !u.bad && c.Rank > before && c.Rank < size
}

// number returns the next number of a column. It sets u.bad if the number is not from 0 to most. For the
// column of ranks, the lower limit is -1.
func (u *unpacking) number(column, most int) int {
	s := &u.numbers[column]
	d, n := binary.Varint(s.rest)
	if n <= 0 {
		u.bad = true
		return 0
	}
	s.rest = s.rest[n:]
	v := int64(u.last[column]) + d
	least := int64(0)
	if column == colRank {
		least = -1
	}
	if v < least || v > int64(most) || d > int64(most)+1 || d < -int64(most)-1 {
		u.bad = true
		return 0
	}
	u.last[column] = int(v)
	return int(v)
}

// lookUp returns the table entry to which the next index of a column refers. If the index is the length
// of the table, it first appends the entry that read returns.
func lookUp[T any](u *unpacking, column int, table *[]T, read func() T) T {
	i := u.number(column, len(*table))
	if i == len(*table) {
		*table = append(*table, read())
	}
	return (*table)[i]
}

// scanner reads bytes. It sets bad if a caller reads more bytes than are left, or if a number is too large.
type scanner struct {
	rest []byte
	bad  bool
}

func (s *scanner) take(n int) []byte {
	if n > len(s.rest) {
		s.bad, s.rest = true, nil
		return nil
	}
	b := s.rest[:n:n]
	s.rest = s.rest[n:]
	return b
}

func (s *scanner) uvarint(most int) int {
	v, n := binary.Uvarint(s.rest)
	if n <= 0 || v > uint64(most) {
		s.bad, s.rest = true, nil
		return 0
	}
	s.rest = s.rest[n:]
	return int(v)
}

func (s *scanner) text() string { return string(s.take(s.uvarint(255))) }

func (s *scanner) array() [16]byte {
	var a [16]byte
	copy(a[:], s.take(len(a)))
	return a
}
