package rdma

// spare are records that are not in use. A long message needs an exposure at the one side and
// an operation at the other, which serve again.
type spare[T any] []*T

// take returns a record. Its contents are those that it was given with.
func (s *spare[T]) take() *T {
	n := len(*s) - 1
	if n < 0 {
		return new(T)
	}
	x := (*s)[n]
	*s = (*s)[:n]
	return x
}

// give takes a record to which nothing refers any more.
func (s *spare[T]) give(x *T) { *s = append(*s, x) }
