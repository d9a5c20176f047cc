package engine

import (
	"context"
	"time"

	"github.com/gorun-hpc/gorun/transport"
)

// Engine is the message engine of one rank.
type Engine struct{ cfg Config }

// New returns an engine. Start gives it background progress.
func New(cfg Config) (*Engine, error) { return &Engine{cfg: cfg}, nil }

// Start begins background progress.
func (e *Engine) Start() {}

// Close ends background progress and every operation; transports stay open.
func (e *Engine) Close() error { return nil }

// Send sends buf and returns when it may be reused.
func (e *Engine) Send(ctx context.Context, to Match, t Type, buf []byte, m Mode, pc uintptr) error {
	return ErrClosed
}

// Isend starts a send.
func (e *Engine) Isend(to Match, t Type, buf []byte, m Mode, pc uintptr) *Request { return nil }

// Recv receives a message into buf.
func (e *Engine) Recv(ctx context.Context, from Match, t Type, buf []byte, pc uintptr) (Status, error) {
	return Status{}, ErrClosed
}

// Irecv starts a receive.
func (e *Engine) Irecv(from Match, t Type, buf []byte, pc uintptr) *Request { return nil }

// Probe waits for a message and leaves it where it is.
func (e *Engine) Probe(ctx context.Context, from Match, pc uintptr) (Status, error) {
	return Status{}, ErrClosed
}

// Iprobe looks for a message.
func (e *Engine) Iprobe(from Match) (Status, bool, error) { return Status{}, false, nil }

// Mprobe waits for a message and takes it out of matching.
func (e *Engine) Mprobe(ctx context.Context, from Match, pc uintptr) (*Matched, error) {
	return nil, ErrClosed
}

// Improbe takes a message out of matching if there is one.
func (e *Engine) Improbe(from Match) (*Matched, bool, error) { return nil, false, nil }

// SendHandover gives buf, arena memory known to peers as key, to the receiver.
func (e *Engine) SendHandover(ctx context.Context, to Match, t Type, key transport.Key, buf []byte, pc uintptr) error {
	return ErrClosed
}

// RecvMessage receives a message together with its memory.
func (e *Engine) RecvMessage(ctx context.Context, from Match, pc uintptr) (*Message, error) {
	return nil, ErrClosed
}

// WaitAny waits until one of the requests is finished and returns its index. nil
// requests are skipped; -1 when all are nil.
func (e *Engine) WaitAny(ctx context.Context, rs []*Request) (int, Status, error) {
	return -1, Status{}, ErrClosed
}

// Await polls until done returns true.
func (e *Engine) Await(ctx context.Context, done func() bool, pc uintptr, what string) error {
	return ErrClosed
}

// MarkDown says that a peer is gone.
func (e *Engine) MarkDown(peer int, cause error) {}

// Abort ends every blocked and every future operation with err.
func (e *Engine) Abort(err error) {}

// Blocked lists the operations that wait.
func (e *Engine) Blocked() []Blocked { return nil }

// Blocked is one waiting operation.
type Blocked struct {
	Op        string
	Peer, Tag int
	Context   uint32
	PC        uintptr
	Since     time.Time
	Bytes     int
}

// Request is a nonblocking operation.
type Request struct{}

// Wait waits for the end. The request must not be used afterwards, unless Wait
// returns the error of ctx, which leaves it as it is.
func (r *Request) Wait(ctx context.Context) (Status, error) { return Status{}, ErrClosed }

// Test reports whether the request is finished; if so it must not be used again.
func (r *Request) Test() (Status, bool, error) { return Status{}, false, nil }

// Done reports whether the request is finished, and leaves it as it is.
func (r *Request) Done() bool { return false }

// Cancel asks for an early end. Wait is still due.
func (r *Request) Cancel() {}

// Matched is a message taken out of matching by Mprobe.
type Matched struct{}

// Status describes the message.
func (m *Matched) Status() Status { return Status{} }

// Recv receives the message.
func (m *Matched) Recv(ctx context.Context, t Type, buf []byte, pc uintptr) (Status, error) {
	return Status{}, ErrClosed
}

// Irecv starts to receive the message.
func (m *Matched) Irecv(t Type, buf []byte, pc uintptr) *Request { return nil }

// Message is a received message with its memory.
type Message struct {
	// Status describes the message.
	Status Status
	// Bytes is the memory, until Release.
	Bytes []byte
}

// Release gives the memory back to its owner.
func (m *Message) Release() {}
