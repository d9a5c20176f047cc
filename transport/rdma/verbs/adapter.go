package verbs

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// Adapter is an open interface adapter (dat_ia_open(3DAT)). All other objects are made from an
// adapter. An adapter and all objects that are made from it are safe for concurrent use.
type Adapter struct {
	provider string
	device   provider.Device
	limits   Attributes
	// registering counts the running calls that register or deregister memory without the lock.
	// Close waits for them.
	registering sync.WaitGroup

	// mu guards the fields below it, and those fields of the adapter's objects that change and are not
	// atomic. A consumer may call this package while it holds locks of its own, so mu comes after them
	// in the lock order. The provider is called with mu held, except in the cases that package provider
	// names.
	mu        sync.Mutex
	regions   map[uint32]*MemoryRegion
	recent    [recentRegions]*MemoryRegion // the regions that were looked up last, by key
	domains   map[*ProtectionDomain]struct{}
	endpoints map[*Endpoint]struct{}
	listeners map[*Listener]struct{}
	requests  map[*ConnectionRequest]struct{}
	queues    map[*CompletionQueue]struct{}
	shared    map[*SharedReceiveQueue]struct{}
	// events is the queue that receives the events of the adapter itself, or nil.
	events    *CompletionQueue
	deadlines deadlines
	// deferred contains the endpoints with work that has to wait until no upcall (a call from the
	// provider) runs.
	deferred []*Endpoint
	// later contains the endpoints with requests that FlagMore may hold back.
	later   []*Endpoint
	waiting waiting
	closed  bool
	failure error
	// removal is the reason for the removal of the device, or nil while the device is present.
	removal error
}

// Open opens an interface adapter of the provider p. The argument name selects the adapter. The
// provider defines the names.
func Open(p Provider, name string) (*Adapter, error) {
	if p == nil {
		return nil, &OpError{Op: "open", Fault: ErrInvalidHandle}
	}
	a := &Adapter{
		provider: p.Name(), regions: map[uint32]*MemoryRegion{}, domains: map[*ProtectionDomain]struct{}{},
		endpoints: map[*Endpoint]struct{}{}, listeners: map[*Listener]struct{}{},
		requests: map[*ConnectionRequest]struct{}{}, queues: map[*CompletionQueue]struct{}{}, shared: map[*SharedReceiveQueue]struct{}{},
	}
	a.waiting.left.L = &a.mu
	device, err := p.Open(name, (*owner)(a))
	if err != nil {
		return nil, newError("open", p.Name(), name, err)
	}
	a.device, a.limits = device, device.Attributes()
	if err := checkEndpoint(&a.limits.Endpoint, &a.limits); err != nil {
		return nil, errors.Join(newError("open", p.Name(), name, fmt.Errorf("defaults of an endpoint: %w", err)), device.Close())
	}
	return a, nil
}

// Attributes returns the adapter's properties and limits (dat_ia_query(3DAT)).
func (a *Adapter) Attributes() Attributes { return a.limits }

// Progress makes progress on the adapter without returning entries. It returns the number of steps
// of progress. Progress is for consumers that have no completion queue, or that do not take the
// entries now.
func (a *Adapter) Progress() int {
	a.mu.Lock()
	defer a.unlock()
	if a.closed {
		return 0
	}
	return a.drive()
}

// Begin starts the requests that FlagMore holds back.
func (a *Adapter) Begin() {
	a.mu.Lock()
	defer a.unlock()
	if !a.closed {
		a.begin()
	}
}

// begin does the work of Begin. The caller holds the lock.
func (a *Adapter) begin() {
	for i, ep := range a.later {
		a.later[i] = nil
		if ep.held && ep.state.transfers() {
			ep.queuePair.RequestsPosted()
		}
		ep.held = false
	}
	a.later = a.later[:0]
}

// Close ends everything on the adapter abruptly: it breaks connections, refuses unanswered
// connection requests, deregisters memory, and makes waiters return ErrClosed. After Close no more
// entries are queued. Entries that are already queued can still be polled. A second Close does
// nothing.
func (a *Adapter) Close() error {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return nil
	}
	a.closed = true
	for l := range a.listeners {
		l.point.Close()
	}
	for r := range a.requests {
		r.handshake.Refuse()
		r.answered = true
	}
	for ep := range a.endpoints {
		ep.queuePair.Close()
		ep.state = StateFreed
	}
	for q := range a.queues {
		q.close(ErrClosed)
	}
	for s := range a.shared {
		s.queue.Close()
	}
	a.stopWaiting()
	a.mu.Unlock()
	a.registering.Wait()
	var errs []error
	for _, m := range a.regions { // after registering.Wait no call changes the regions
		errs = append(errs, m.domain.domain.Deregister(m.keys))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.regions, a.recent = nil, [recentRegions]*MemoryRegion{}
	for d := range a.domains {
		errs = append(errs, d.domain.Close())
	}
	return errors.Join(append(errs, a.device.Close())...)
}

// drive makes progress under the lock and returns the number of steps.
func (a *Adapter) drive() int {
	if a.failure != nil {
		return 0
	}
	if len(a.later) > 0 {
		a.begin()
	}
	n, err := a.device.Progress()
	if !a.deadlines.empty() {
		n += a.expire(time.Now())
	}
	if len(a.deferred) > 0 {
		a.settle()
	}
	if err == nil {
		err = a.removal
	}
	if err != nil {
		a.fail(err)
		n++
	}
	return n
}

// expire ends the connection attempts whose deadline has passed.
func (a *Adapter) expire(now time.Time) int {
	n := 0
	for ep := a.deadlines.due(now); ep != nil; ep = a.deadlines.due(now) {
		ep.timedOut()
		n++
	}
	return n
}

// fail ends the adapter after an error of the device as a whole.
func (a *Adapter) fail(err error) {
	a.failure = err
	a.tell(EventRemoved, err)
	for ep := range a.endpoints {
		ep.lost(err)
	}
	for q := range a.queues {
		q.close(err)
	}
}

// settle does the deferred work of endpoints. No upcall runs when it is called.
func (a *Adapter) settle() {
	for len(a.deferred) > 0 {
		ep := a.deferred[len(a.deferred)-1]
		a.deferred = a.deferred[:len(a.deferred)-1]
		ep.settle()
	}
}

// unlock ends a call: it does the deferred work of endpoints, wakes the waiters whose wait has ended,
// releases the lock, and then calls the ring functions that are due (see wake).
func (a *Adapter) unlock() {
	if len(a.deferred) == 0 && !a.waiting.dirty {
		a.mu.Unlock()
		return
	}
	a.conclude()
}

// conclude does the work of unlock if there is deferred work, or if waiting.dirty is true.
func (a *Adapter) conclude() {
	if len(a.deferred) > 0 && !a.closed {
		a.settle()
	}
	if !a.waiting.dirty {
		a.mu.Unlock()
		return
	}
	rings := a.wake()
	a.mu.Unlock()
	for _, ring := range rings {
		ring()
	}
}

// err makes the error of an operation on this adapter.
func (a *Adapter) err(op string, cause error) error { return newError(op, a.provider, "", cause) }

// newError makes an OpError. The field Fault of the OpError is the Fault that the cause wraps, or
// ErrInsufficientResources if the cause wraps no Fault.
func newError(op, name, peer string, cause error) error {
	e := &OpError{Op: op, Provider: name, Peer: peer, Fault: ErrInsufficientResources, Err: cause}
	var fault Fault
	if errors.As(cause, &fault) {
		e.Fault = fault
	}
	if cause.Error() == fault.Error() {
		e.Err = nil
	}
	return e
}
