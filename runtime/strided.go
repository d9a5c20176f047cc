package runtime

import (
	"fmt"
	"sync"

	"github.com/gorun-hpc/gorun/internal/callsite"
)

// Strided describes Count blocks of Block elements each in a slice. The beginnings of
// successive blocks lie Stride elements apart. A column of a row-major matrix with n
// columns is {Count: rows, Block: 1, Stride: n}. Blocks must not overlap.
type Strided struct{ Count, Block, Stride int }

// Len returns the number of elements described.
func (s Strided) Len() int { return s.Count * s.Block }

// check returns ErrArgument for a description that is invalid or reaches beyond a slice
// of n elements.
func (s Strided) check(n int) error {
	switch {
	case s.Count < 0 || s.Block < 0 || s.Count > 1 && s.Stride < s.Block:
		return fmt.Errorf("%w: %+v has a negative number, or blocks that overlap", ErrArgument, s)
	// Products such as s.Len could overflow here.
	case s.Count == 0 || s.Block == 0:
		return nil
	case s.Block > n || s.Count > 1 && (n-s.Block)/(s.Count-1) < s.Stride:
		return fmt.Errorf("%w: %+v reaches beyond %d elements", ErrArgument, s, n)
	}
	return nil
}

// checkStrided returns an error if the description does not fit buf, or if elements of
// type T cannot be sent in messages.
func checkStrided[T any](buf []T, s Strided) error {
	if err := elementOf[T]().err; err != nil {
		return callsite.At(err)
	}
	return callsite.At(s.check(len(buf)))
}

// SendStrided sends the elements of buf that s describes as one message of
// s.Len elements. Any receive of that element type can receive it.
func SendStrided[T any](c *Comm, buf []T, s Strided, dest, tag int) error {
	if err := checkStrided(buf, s); err != nil {
		return err
	}
	packed := scratch(s.Len() * elementOf[T]().size)
	defer packed.free()
	return Send(c, gather(packed, buf, s), dest, tag)
}

// RecvStrided receives one message into the elements of buf that s describes.
func RecvStrided[T any](c *Comm, buf []T, s Strided, source, tag int) (Status, error) {
	if err := checkStrided(buf, s); err != nil {
		return Status{}, err
	}
	packed := scratch(s.Len() * elementOf[T]().size)
	defer packed.free()
	from := viewOf[T](packed.bytes, s.Len())
	status, err := Recv(c, from, source, tag)
	scatter(buf, s, from[:min(len(from), status.Count())])
	return status, err
}

// IsendStrided starts a SendStrided. It copies the elements before it returns. After that,
// buf may be changed.
func IsendStrided[T any](c *Comm, buf []T, s Strided, dest, tag int) Request {
	if err := checkStrided(buf, s); err != nil {
		return unstarted(err)
	}
	packed := scratch(s.Len() * elementOf[T]().size)
	return Isend(c, gather(packed, buf, s), dest, tag).after(strides{packed: packed})
}

// IrecvStrided starts a RecvStrided. The Wait or Test that reports the end writes the
// elements into buf.
func IrecvStrided[T any](c *Comm, buf []T, s Strided, source, tag int) Request {
	if err := checkStrided(buf, s); err != nil {
		return unstarted(err)
	}
	size := elementOf[T]().size
	packed := scratch(s.Len() * size)
	from := viewOf[T](packed.bytes, s.Len())
	return Irecv(c, from, source, tag).after(strides{packed: packed, unpack: func(n int) {
		scatter(buf, s, from[:min(len(from), count(n, size))])
	}})
}

// gather copies the elements that s describes into packed, and returns them as a slice of packed.
func gather[T any](packed *space, buf []T, s Strided) []T {
	to := viewOf[T](packed.bytes, s.Len())
	if s.Block == 1 {
		for i := range to {
			to[i] = buf[i*s.Stride]
		}
		return to
	}
	if len(to) == 0 { // empty blocks may lie beyond the end of buf
		return to
	}
	for i := range s.Count {
		copy(to[i*s.Block:(i+1)*s.Block], buf[i*s.Stride:])
	}
	return to
}

// scatter copies the slice named from into the elements of buf that s describes, beginning with the
// first of them. The slice may have fewer elements than s.Len.
func scatter[T any](buf []T, s Strided, from []T) {
	if s.Block == 1 {
		for i, v := range from {
			buf[i*s.Stride] = v
		}
		return
	}
	for i := 0; len(from) > 0; i++ {
		n := min(s.Block, len(from))
		copy(buf[i*s.Stride:], from[:n])
		from = from[n:]
	}
}

// strides is the work that remains when a strided operation ends.
type strides struct {
	packed *space
	// unpack distributes the first n bytes of packed; nil for sends.
	unpack func(n int)
}

// finish does the remaining work. n is the length of the message in bytes.
func (s strides) finish(n int) {
	if s.unpack != nil {
		s.unpack(n)
	}
	if s.packed != nil {
		s.packed.free()
	}
}

// after returns r with s as the work that remains at its end. If the peer of r is ProcNull, or if r has completed
// already and has no rest, the method after frees the space of s at once.
func (r Request) after(s strides) Request {
	switch {
	case r.rest == nullRest, r.rest == nil && r.operation.Zero():
		s.packed.free() // the peer is ProcNull, or the send has completed
		return r
	case r.rest == nil:
		r.rest = new(rest)
	}
	r.rest.strides = s // no other request shares this rest
	return r
}

// space is reusable memory for packed elements.
type space struct {
	words []uint64 // aligned for every element type
	bytes []byte   // the memory of words, with the length that scratch was asked for
}

// spaces holds the free spaces.
var spaces = sync.Pool{New: func() any { return new(space) }}

// scratch returns a space of n bytes.
func scratch(n int) *space {
	s := spaces.Get().(*space)
	if words := max(1, (n+7)/8); cap(s.words) < words {
		s.words = make([]uint64, words)
	}
	s.bytes = bytesOf(s.words[:cap(s.words)])[:n]
	return s
}

// free returns the space to spaces.
func (s *space) free() { spaces.Put(s) }
