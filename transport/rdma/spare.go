package rdma

// spare is a free list of objects that the transport reuses. A long message needs an exposure at
// one rank and an operation at the other rank. Free lists keep both kinds of objects.
type spare[T any] []*T

// take returns an object. An object from the list has the contents that it had when give was
// called. A new object is zero.
func (s *spare[T]) take() *T {
	n := len(*s) - 1
	if n < 0 {
		return new(T)
	}
	x := (*s)[n]
	*s = (*s)[:n]
	return x
}

// give puts an object into the list. No other references to the object may remain.
func (s *spare[T]) give(x *T) { *s = append(*s, x) }
