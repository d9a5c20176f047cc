package rdma

// spare is a free list of records. A long message needs an exposure at one side and an operation at
// the other; the list lets the transport reuse them.
type spare[T any] []*T

// take returns a record. Its contents are the contents that it had at give, or zero if it is new.
func (s *spare[T]) take() *T {
	n := len(*s) - 1
	if n < 0 {
		return new(T)
	}
	x := (*s)[n]
	*s = (*s)[:n]
	return x
}

// give puts a record into the list. Nothing may refer to it any more.
func (s *spare[T]) give(x *T) { *s = append(*s, x) }
