package rdma

// spare is a free list of records. A long message needs an exposure at one side and an operation at
// the other side. The list lets the transport reuse these records.
type spare[T any] []*T

// take returns a record. A record that was in the list has the contents that it had at give. A new
// record is zero.
func (s *spare[T]) take() *T {
	n := len(*s) - 1
	if n < 0 {
		return new(T)
	}
	x := (*s)[n]
	*s = (*s)[:n]
	return x
}

// give puts a record into the list. No references to the record may remain.
func (s *spare[T]) give(x *T) { *s = append(*s, x) }
