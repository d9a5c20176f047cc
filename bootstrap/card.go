package bootstrap

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Card is what a rank tells the others about itself.
//
// Encoded, little endian:
//
//	offset  bytes  field
//	0       2      version, 1
//	2       2      length of the whole record
//	4       4      rank
//	8       4      process id, in the node's PID namespace
//	12      4      slot in the node memory
//	16      16     node
//	32      1      length p of the provider's name
//	33      p      provider
//	33+p    1      number a of addresses
//	34+p    18*a   addresses: 16 bytes IP (IPv4 mapped), 2 bytes port
type Card struct {
	Rank      int
	PID       int
	Slot      int // range of the node memory
	Node      NodeID
	Provider  string    // RDMA provider, "" for none; at most 255 bytes
	Addresses []Address // where the provider listens, best first; at most 255
}

// Address is an IP address (IPv4 in its mapped IPv6 form) and a port.
type Address struct {
	IP   [16]byte
	Port uint16
}

const (
	cardVersion  = 1
	cardFixed    = 34 // bytes without provider and addresses
	addressBytes = 18
	// CardBytesMax bounds an encoded card.
	CardBytesMax = cardFixed + 255 + 255*addressBytes
)

// ErrMalformed is wrapped by every error about bytes that are not what the
// protocol says.
var ErrMalformed = errors.New("malformed")

// Len returns the bytes that Append adds.
func (c Card) Len() int { return cardFixed + len(c.Provider) + addressBytes*len(c.Addresses) }

// Append appends the encoded card to b. Fields out of range are an error.
func (c Card) Append(b []byte) ([]byte, error) {
	if len(c.Provider) > 255 || len(c.Addresses) > 255 {
		return b, fmt.Errorf("bootstrap: card of rank %d: provider of %d bytes and %d addresses; at most 255 each",
			c.Rank, len(c.Provider), len(c.Addresses))
	}
	for _, v := range [...]int{c.Rank, c.PID, c.Slot} {
		if v < 0 || v > 1<<31-1 {
			return b, fmt.Errorf("bootstrap: card: %d does not fit in 31 bits", v)
		}
	}
	b = binary.LittleEndian.AppendUint16(b, cardVersion)
	b = binary.LittleEndian.AppendUint16(b, uint16(c.Len()))
	b = binary.LittleEndian.AppendUint32(b, uint32(c.Rank))
	b = binary.LittleEndian.AppendUint32(b, uint32(c.PID))
	b = binary.LittleEndian.AppendUint32(b, uint32(c.Slot))
	b = append(b, c.Node[:]...)
	b = append(b, byte(len(c.Provider)))
	b = append(b, c.Provider...)
	b = append(b, byte(len(c.Addresses)))
	for _, a := range c.Addresses {
		b = append(b, a.IP[:]...)
		b = binary.LittleEndian.AppendUint16(b, a.Port)
	}
	return b, nil
}

// ParseCard decodes the card at the start of b and returns its length in
// bytes. The card does not refer to b.
func ParseCard(b []byte) (Card, int, error) {
	if len(b) < cardFixed {
		return Card{}, 0, fmt.Errorf("bootstrap: card of %d bytes: %w", len(b), ErrMalformed)
	}
	if v := binary.LittleEndian.Uint16(b); v != cardVersion {
		return Card{}, 0, fmt.Errorf("bootstrap: card of version %d, this program knows %d: %w", v, cardVersion, ErrMalformed)
	}
	n := int(binary.LittleEndian.Uint16(b[2:]))
	if n < cardFixed || n > len(b) {
		return Card{}, 0, fmt.Errorf("bootstrap: card says %d bytes, %d are there: %w", n, len(b), ErrMalformed)
	}
	b = b[:n]
	provider := int(b[32])
	if cardFixed+provider > n {
		return Card{}, 0, fmt.Errorf("bootstrap: card's provider passes its end: %w", ErrMalformed)
	}
	addresses := int(b[33+provider])
	if cardFixed+provider+addresses*addressBytes != n {
		return Card{}, 0, fmt.Errorf("bootstrap: card of %d bytes has %d addresses: %w", n, addresses, ErrMalformed)
	}
	c := Card{
		Rank:     int(binary.LittleEndian.Uint32(b[4:])),
		PID:      int(binary.LittleEndian.Uint32(b[8:])),
		Slot:     int(binary.LittleEndian.Uint32(b[12:])),
		Node:     NodeID(b[16:32]),
		Provider: string(b[33 : 33+provider]),
	}
	if c.Rank > 1<<31-1 || c.PID > 1<<31-1 || c.Slot > 1<<31-1 {
		return Card{}, 0, fmt.Errorf("bootstrap: card with a negative number: %w", ErrMalformed)
	}
	for at := cardFixed + provider; at < n; at += addressBytes {
		c.Addresses = append(c.Addresses, Address{IP: [16]byte(b[at:]), Port: binary.LittleEndian.Uint16(b[at+16:])})
	}
	return c, n, nil
}
