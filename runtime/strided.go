package runtime

// Strided describes Count blocks of Block elements each in a slice, whose
// beginnings lie Stride elements apart: a column of a matrix in rows of n is
// {Count: rows, Block: 1, Stride: n}.
type Strided struct{ Count, Block, Stride int }

// Len returns the number of elements described.
func (s Strided) Len() int { return s.Count * s.Block }

// SendStrided sends the elements of buf that s describes as one message of
// s.Len elements. Any receive of that type can take it.
func SendStrided[T any](c *Comm, buf []T, s Strided, dest, tag int) error { return nil }

// RecvStrided receives one message into the elements of buf that s describes.
func RecvStrided[T any](c *Comm, buf []T, s Strided, source, tag int) (Status, error) {
	return Status{}, nil
}

// IsendStrided starts a SendStrided. The elements are read before it returns.
func IsendStrided[T any](c *Comm, buf []T, s Strided, dest, tag int) *Request { return &Request{} }

// IrecvStrided starts a RecvStrided. The elements are written by the Wait or
// Test that reports the end.
func IrecvStrided[T any](c *Comm, buf []T, s Strided, source, tag int) *Request { return &Request{} }
