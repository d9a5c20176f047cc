package runtime

// Probe waits until a message that matches can be received and describes it.
// The message stays; another goroutine may receive it first.
func Probe(c *Comm, source, tag int) (Status, error) { return Status{}, nil }

// Iprobe is Probe that does not wait: it reports whether there was a message.
func Iprobe(c *Comm, source, tag int) (Status, bool, error) { return Status{}, false, nil }

// Mprobe waits until a message that matches can be received and takes it out of
// the queue: only RecvMatched or IrecvMatched receive it, and one of them must.
func Mprobe(c *Comm, source, tag int) (*Matched, error) { return nil, nil }

// Improbe is Mprobe that does not wait: it returns nil, false when there is no
// message.
func Improbe(c *Comm, source, tag int) (*Matched, bool, error) { return nil, false, nil }

// Matched is a message that Mprobe took out of the queue.
type Matched struct{}

// Status describes the message.
func (m *Matched) Status() Status { return Status{} }

// RecvMatched receives the message into buf.
func RecvMatched[T any](m *Matched, buf []T) (Status, error) { return Status{}, nil }

// IrecvMatched starts to receive the message into buf.
func IrecvMatched[T any](m *Matched, buf []T) *Request { return &Request{} }
