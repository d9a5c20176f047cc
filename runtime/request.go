package runtime

// Request is an operation that was started. A nil Request is complete. It
// belongs to one goroutine at a time.
type Request struct{}

// Wait waits for the end of the operation and returns its result, each time the
// same. The context is that of the communicator with which it was started: when
// it ends the wait, the operation goes on.
func (r *Request) Wait() (Status, error) { return Status{}, nil }

// Test reports whether the operation has ended, and its result if so.
func (r *Request) Test() (Status, bool, error) { return Status{}, false, nil }

// Cancel asks to end a receive that is not matched yet; Wait then returns
// ErrCanceled. Too late, or for other operations, it does nothing.
func (r *Request) Cancel() {}

// NewRequest runs fn on a goroutine of its own with a view of c whose context
// ends when the request is canceled, and returns its request. Wait returns fn's
// error.
func NewRequest(c *Comm, fn func(c *Comm) error) *Request { return &Request{} }
