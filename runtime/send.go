package runtime

// Send sends buf to dest and returns when buf may be changed. A small message
// does not wait for its receiver, a large one does.
func Send[T any](c *Comm, buf []T, dest, tag int) error { return nil }

// Ssend is Send that returns only after the receive has been matched.
func Ssend[T any](c *Comm, buf []T, dest, tag int) error { return nil }

// Isend starts a Send. buf may not be changed until the request is complete;
// errors come out of Wait.
func Isend[T any](c *Comm, buf []T, dest, tag int) *Request { return &Request{} }

// Issend starts an Ssend.
func Issend[T any](c *Comm, buf []T, dest, tag int) *Request { return &Request{} }
