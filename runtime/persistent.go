package runtime

// Persistent is an operation that is set up once and started many times.
type Persistent struct{}

// SendInit sets up a Send of buf, which Start sends as it is then.
func SendInit[T any](c *Comm, buf []T, dest, tag int) *Persistent { return &Persistent{} }

// SsendInit sets up an Ssend.
func SsendInit[T any](c *Comm, buf []T, dest, tag int) *Persistent { return &Persistent{} }

// RecvInit sets up a Recv into buf.
func RecvInit[T any](c *Comm, buf []T, source, tag int) *Persistent { return &Persistent{} }

// Start starts the operation. It fails with ErrRequest while one is under way.
func (p *Persistent) Start() error { return nil }

// Wait waits for the end of the operation started last. Without one it returns
// at once.
func (p *Persistent) Wait() (Status, error) { return Status{}, nil }

// Test reports whether the operation started last has ended.
func (p *Persistent) Test() (Status, bool, error) { return Status{}, false, nil }

// Cancel is Request.Cancel for the operation started last.
func (p *Persistent) Cancel() {}

// Free gives the operation up. One that is under way completes.
func (p *Persistent) Free() {}

// StartAll starts all operations.
func StartAll(operations ...*Persistent) error { return nil }
