package bootstrap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// Card is the record in which a rank publishes its node, process ID and addresses to the other ranks.
//
// Encoded, little endian (+0, +1 and +2 are offsets from the end of the previous field of variable length):
//
//	offset  bytes  field
//	0       2      version, cardVersion
//	2       2      length of the whole record
//	4       4      rank
//	8       4      process id, in the node's PID namespace
//	12      4      slot in the node memory
//	16      16     node
//	32      1      length h of the host's name
//	33      h      host
//	+0      1      length p of the provider's name
//	+1      p      provider
//	+0      1      number a of addresses
//	+1      18*a   addresses: 16 bytes IP (IPv4 mapped), 2 bytes port
//	+0      2      length d of the provider's data
//	+2      d      data
type Card struct {
	Rank      int
	PID       int
	Slot      int // index of the rank's range in the node memory
	Node      NodeID
	Host      string    // the launcher's name of the node, for messages; at most 255 bytes
	Provider  string    // RDMA provider, "" for none; at most 255 bytes
	Addresses []Address // at which the provider listens, in order of preference; at most 255
	Data      []byte    // data of the provider, opaque to this package, nil for none; at most DataBytesMax bytes
}

// Address is an IP address (IPv4 in its mapped IPv6 form) and a port.
type Address struct {
	IP   [16]byte
	Port uint16
}

const (
	cardVersion  = 3                        // a change of the layout of Data counts, too
	cardHead     = 32                       // bytes before the first field of variable length
	cardFixed    = cardHead + 1 + 1 + 1 + 2 // length of a card whose variable fields are empty
	addressBytes = 18
	// DataBytesMax is the largest length of the provider's data in a card, in bytes.
	DataBytesMax = 1024
	// CardBytesMax is the largest length of an encoded card, in bytes.
	CardBytesMax = cardFixed + 255 + 255 + 255*addressBytes + DataBytesMax
)

// ErrMalformed is wrapped by every error about bytes that violate the protocol.
var ErrMalformed = errors.New("malformed")

// Len returns the number of bytes that Append appends.
func (c Card) Len() int {
	return cardFixed + len(c.Host) + len(c.Provider) + addressBytes*len(c.Addresses) + len(c.Data)
}

// Append appends the encoded card to b. Fields out of range are an error.
func (c Card) Append(b []byte) ([]byte, error) {
	if len(c.Host) > 255 || len(c.Provider) > 255 || len(c.Addresses) > 255 || len(c.Data) > DataBytesMax {
		return b, fmt.Errorf("bootstrap: card of rank %d: host of %d bytes, provider of %d bytes and %d addresses: at most 255 each; data of %d bytes: at most %d",
			c.Rank, len(c.Host), len(c.Provider), len(c.Addresses), len(c.Data), DataBytesMax)
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
	b = append(append(b, byte(len(c.Host))), c.Host...)
	b = append(append(b, byte(len(c.Provider))), c.Provider...)
	b = append(b, byte(len(c.Addresses)))
	for _, a := range c.Addresses {
		b = append(b, a.IP[:]...)
		b = binary.LittleEndian.AppendUint16(b, a.Port)
	}
	b = binary.LittleEndian.AppendUint16(b, uint16(len(c.Data)))
	return append(b, c.Data...), nil
}

// ParseCard decodes the card at the start of b. It returns the card, and the length in bytes of its encoding.
// The card does not refer to the memory of b.
func ParseCard(b []byte) (Card, int, error) {
	if len(b) < cardFixed {
		return Card{}, 0, fmt.Errorf("bootstrap: card of %d bytes: %w", len(b), ErrMalformed)
	}
	if v := binary.LittleEndian.Uint16(b); v != cardVersion {
		return Card{}, 0, fmt.Errorf("bootstrap: card of version %d in place of %d: is the peer built with another version of gorun? %w", v, cardVersion, ErrMalformed)
	}
	n := int(binary.LittleEndian.Uint16(b[2:]))
	if n < cardFixed || n > len(b) {
		return Card{}, 0, fmt.Errorf("bootstrap: card of %d bytes in %d bytes: %w", n, len(b), ErrMalformed)
	}
	c := Card{
		Rank: int(binary.LittleEndian.Uint32(b[4:])),
		PID:  int(binary.LittleEndian.Uint32(b[8:])),
		Slot: int(binary.LittleEndian.Uint32(b[12:])),
		Node: NodeID(b[16:cardHead]),
	}
	if c.Rank > 1<<31-1 || c.PID > 1<<31-1 || c.Slot > 1<<31-1 {
		return Card{}, 0, fmt.Errorf("bootstrap: card of rank %d, process %d, slot %d, of which one exceeds 31 bits: %w", c.Rank, c.PID, c.Slot, ErrMalformed)
	}
	rest := remainder(b[cardHead:n])
	c.Host = string(rest.take(rest.number(1)))
	c.Provider = string(rest.take(rest.number(1)))
	for range rest.number(1) {
		if a := rest.take(addressBytes); a != nil {
			c.Addresses = append(c.Addresses, Address{IP: [16]byte(a), Port: binary.LittleEndian.Uint16(a[16:])})
		}
	}
	if d := rest.number(2); d > DataBytesMax {
		rest = nil
	} else if d > 0 {
		c.Data = slices.Clone(rest.take(d))
	}
	if rest == nil || len(rest) > 0 {
		return Card{}, 0, fmt.Errorf("bootstrap: fields that are longer or shorter than their card of %d bytes: %w", n, ErrMalformed)
	}
	return c, n, nil
}

// remainder is the part of a record that has not been read yet. After an attempt to read more bytes than were
// left, the remainder is nil.
type remainder []byte

// take returns the next n bytes, or nil if fewer bytes are left.
func (r *remainder) take(n int) []byte {
	if n > len(*r) || *r == nil {
		*r = nil
		return nil
	}
	b := (*r)[:n]
	*r = (*r)[n:]
	return b
}

// number returns the little-endian number in the next n bytes, or 0 if fewer bytes are left.
func (r *remainder) number(n int) int {
	v := 0
	for i, b := range r.take(n) {
		v |= int(b) << (8 * i)
	}
	return v
}
