package codec

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
)

// Definition returns the body of the message that defines the number of a type for a peer. It consists of
// the length of the type's name (16 bits, little endian), the name and the layout.
func (t *Type) Definition() []byte {
	b := binary.LittleEndian.AppendUint16(nil, uint16(len(t.Name)))
	return append(append(b, t.Name...), t.Layout...)
}

// Definitions holds the types that a peer has defined. The caller excludes concurrent use.
type Definitions struct {
	types []*Type // by number - NumberDefined; a type that is unknown in this process has no Decode
	// copied holds, by the same index, the decoders of the types that are decoded by copying. The
	// entry of any other type is nil.
	copied []func(b []byte) (any, error)
}

// Define handles a Definition of a peer.
func (d *Definitions) Define(number uint32, body []byte) error {
	if len(body) < 2 || len(body)-2 < int(binary.LittleEndian.Uint16(body)) || number < NumberDefined || number >= NumberDefined+TypesMax {
		return fmt.Errorf("%w: definition of type %d", ErrMalformed, number)
	}
	n := 2 + int(binary.LittleEndian.Uint16(body))
	at := number - NumberDefined
	for uint32(len(d.types)) <= at {
		d.types, d.copied = append(d.types, nil), append(d.copied, nil)
	}
	t := find(string(body[2:n]), string(body[n:]))
	d.types[at], d.copied[at] = t, nil
	if t.Copied {
		d.copied[at] = t.Decode
	}
	if t.slab != nil {
		d.copied[at] = t.slab()
	}
	return nil
}

// Copied returns the function that decodes messages of a type of the peer by copying, or nil if the type is
// not decoded by copying.
func (d *Definitions) Copied(number uint32) func(b []byte) (any, error) {
	switch at := number - NumberDefined; {
	case at < uint32(len(d.copied)):
		return d.copied[at]
	case number == NumberBytes:
		return Bytes.Decode
	case number == NumberString:
		return String.Decode
	}
	return nil
}

// Type returns the type for which the peer uses a number. The error is ErrMalformed if the peer has not
// defined the number, or ErrUnregistered if this process cannot decode the type.
func (d *Definitions) Type(number uint32) (*Type, error) {
	switch number {
	case NumberBytes:
		return Bytes, nil
	case NumberString:
		return String, nil
	case NumberMessage:
		return Message, nil
	}
	at := number - NumberDefined
	if at >= uint32(len(d.types)) || d.types[at] == nil {
		return nil, fmt.Errorf("%w: type %d", ErrMalformed, number)
	}
	if t := d.types[at]; t.Decode != nil {
		return t, nil
	}
	return nil, fmt.Errorf("%w: %s", ErrUnregistered, d.types[at].Name)
}

// Announced is the set of types that were defined to a peer. Any goroutine may use it.
type Announced [TypesMax / 64]atomic.Uint64

// Needs reports whether a type needs a definition and was not defined yet.
func (a *Announced) Needs(t *Type) bool {
	bit := t.Number - NumberDefined
	return t.Number >= NumberDefined && a[bit/64].Load()&(1<<(bit%64)) == 0
}

// Add adds a type that was defined.
func (a *Announced) Add(t *Type) {
	bit := t.Number - NumberDefined
	a[bit/64].Or(1 << (bit % 64))
}

// Clear removes all types.
func (a *Announced) Clear() {
	for i := range a {
		a[i].Store(0)
	}
}
