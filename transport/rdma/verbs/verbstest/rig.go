package verbstest

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	goruntime "runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

const (
	// patience is the time after which a test that hangs is ended. No result depends on this time.
	patience = 60 * time.Second
	// quietRounds is the number of times that quiet polls all sides, to check that no more entries
	// come.
	quietRounds = 200
	// memoryBytes is the length in bytes of the registered memory of a side.
	memoryBytes = 64 << 10
)

// rig drives the adapters of one subtest on the test's goroutine.
type rig struct {
	testing.TB
	harness Harness
	sides   []*side
	// a and p are the active and the passive side.
	a, p *side
	// virtual is true if the test runs in a bubble of testing/synctest. The clock of the
	// bubble advances while all its goroutines sleep.
	virtual bool
}

// side is an adapter with a protection domain, memory, and three completion queues: for receives, for requests,
// and for connection events and connection requests.
type side struct {
	rig                             *rig
	adapter                         *verbs.Adapter
	limits                          verbs.Attributes
	domain                          *verbs.ProtectionDomain
	receives, requests, connections *verbs.CompletionQueue
	region                          *verbs.MemoryRegion
	memory                          []byte
	// log holds the polled entries that next has not returned yet.
	log []logged
}

// logged is an entry and the queue from which it was polled.
type logged struct {
	verbs.Completion
	queue *verbs.CompletionQueue
}

func newRig(tb testing.TB, h Harness) *rig {
	tb.Helper()
	r := &rig{TB: tb, harness: h}
	r.a, r.p = r.side(), r.side()
	return r
}

// bubble runs a test in virtual time, with adapters of its own, if the harness implements
// Virtual. Otherwise it does nothing. A minute of virtual time takes almost no real time.
func (r *rig) bubble(test func(r *rig)) {
	r.Helper()
	h, ok := r.harness.(Virtual)
	if !ok {
		return
	}
	synctest.Test(r.TB.(*testing.T), func(t *testing.T) {
		v := newRig(t, h.Again())
		v.virtual = true
		test(v)
	})
}

// idle lets other goroutines run. In virtual time it lets a millisecond pass.
func (r *rig) idle() {
	if r.virtual {
		time.Sleep(time.Millisecond)
	} else {
		goruntime.Gosched()
	}
}

// side opens one more adapter.
func (r *rig) side() *side {
	r.Helper()
	return r.wrap(r.harness.Open(r))
}

// wrap makes a side of an adapter. The adapter is closed when the test ends.
func (r *rig) wrap(a *verbs.Adapter) *side {
	r.Helper()
	s := &side{rig: r, adapter: a, limits: a.Attributes(), memory: make([]byte, memoryBytes)}
	r.Cleanup(func() {
		if err := a.Close(); err != nil {
			r.Errorf("close: %v", err)
		}
	})
	s.domain = must[*verbs.ProtectionDomain](r, "new protection domain")(a.NewProtectionDomain())
	s.receives, s.requests, s.connections = s.queue(256), s.queue(256), s.queue(256)
	s.region = must[*verbs.MemoryRegion](r, "register")(s.domain.Register(s.memory, verbs.AccessLocalWrite|verbs.AccessRemoteRead|verbs.AccessRemoteWrite))
	r.sides = append(r.sides, s)
	return s
}

// must returns a function that takes the two results of a call. This function returns the first
// result. If the second result is an error, the function ends the test.
func must[T any](r *rig, what string) func(T, error) T {
	return func(v T, err error) T {
		r.Helper()
		if err != nil {
			r.Fatalf("%s: %v", what, err)
		}
		return v
	}
}

// queue makes a completion queue.
func (s *side) queue(capacity int) *verbs.CompletionQueue {
	s.rig.Helper()
	return must[*verbs.CompletionQueue](s.rig, "new completion queue")(s.adapter.NewCompletionQueue(capacity))
}

// attributes returns the attributes of the suite's endpoints, within the adapter's limits.
func (s *side) attributes() verbs.EndpointAttributes {
	l := &s.limits
	return verbs.EndpointAttributes{
		MaxMessage: min(l.MaxMessage, memoryBytes), MaxRDMA: min(l.MaxRDMA, memoryBytes),
		MaxReceives: min(l.MaxReceives, 16), MaxRequests: min(l.MaxRequests, 16),
		MaxReceiveSegments: min(l.MaxSegments, 3), MaxRequestSegments: min(l.MaxSegments, 3),
		MaxInline: min(l.MaxInline, 32), ReadsIn: min(l.MaxReadsIn, 4), ReadsOut: min(l.MaxReadsOut, 4),
	}
}

// config returns the configuration of an endpoint with the suite's attributes.
func (s *side) config() verbs.EndpointConfig {
	attributes := s.attributes()
	return verbs.EndpointConfig{
		Domain: s.domain, Receives: s.receives, Requests: s.requests, Connections: s.connections, Attributes: &attributes,
	}
}

// endpoint makes an endpoint. The functions in changes modify its configuration.
func (s *side) endpoint(changes ...func(c *verbs.EndpointConfig)) *verbs.Endpoint {
	s.rig.Helper()
	c := s.config()
	for _, change := range changes {
		change(&c)
	}
	return must[*verbs.Endpoint](s.rig, "new endpoint")(s.adapter.NewEndpoint(c))
}

// listen opens a service point whose connection requests go to the side's connections queue.
func (s *side) listen(changes ...func(o *verbs.ListenOptions)) *verbs.Listener {
	s.rig.Helper()
	o := verbs.ListenOptions{Queue: s.connections}
	for _, change := range changes {
		change(&o)
	}
	return must[*verbs.Listener](s.rig, "listen")(s.adapter.Listen(o))
}

// options returns the options of a Connect without a timeout.
func options(p *verbs.ConnParam) verbs.ConnectOptions {
	return verbs.ConnectOptions{Timeout: verbs.TimeoutInfinite, Param: p}
}

// connect begins a connection.
func (r *rig) connect(ep *verbs.Endpoint, to netip.AddrPort, p *verbs.ConnParam) {
	r.Helper()
	r.ok("connect", ep.Connect(to, options(p)))
}

// request waits for the next connection request that reaches the side.
func (s *side) request() *verbs.ConnectionRequest {
	s.rig.Helper()
	c := s.next("connection request", func(c *logged) bool { return c.Stream == verbs.StreamConnectionRequest })
	s.rig.equal("type of a request's event", c.Event.Type, verbs.EventConnectionRequest)
	return c.Event.Request
}

// event waits for the next connection event of an endpoint.
func (s *side) event(ep *verbs.Endpoint) *verbs.Event {
	s.rig.Helper()
	c := s.next("connection event", func(c *logged) bool { return c.Stream == verbs.StreamConnection && c.Endpoint == ep })
	s.rig.that(c.queue == s.connections, "event %v came to another queue", c.Event.Type)
	return c.Event
}

// expect waits for the next connection event of an endpoint. It checks the type of the event and
// the state of the endpoint.
func (s *side) expect(ep *verbs.Endpoint, t verbs.EventType, state verbs.State) *verbs.Event {
	s.rig.Helper()
	e := s.event(ep)
	if e.Type != t {
		s.rig.Fatalf("event %v (%v), want %v", e.Type, e.Err, t)
	}
	s.rig.state(ep, state)
	return e
}

// completion waits for the next completion of an endpoint on a stream.
func (s *side) completion(ep *verbs.Endpoint, stream verbs.Stream) verbs.Completion {
	s.rig.Helper()
	return s.next(fmt.Sprintf("completion on stream %d", stream), func(c *logged) bool { return c.Stream == stream && c.Endpoint == ep }).Completion
}

// next waits for an entry that matches, removes it from the log and returns it.
func (s *side) next(what string, match func(c *logged) bool) logged {
	s.rig.Helper()
	at := -1
	s.rig.pump(what, func() bool {
		for i := range s.log {
			if match(&s.log[i]) {
				at = i
				return true
			}
		}
		return false
	})
	c := s.log[at]
	s.log = append(s.log[:at], s.log[at+1:]...)
	return c
}

// poll moves entries from the queues of the side into the log.
func (s *side) poll() {
	var into [4]verbs.Completion
	for _, q := range []*verbs.CompletionQueue{s.connections, s.requests, s.receives} {
		m := q.Poll(into[:])
		for i := range into[:m] {
			s.log = append(s.log, logged{into[i], q})
		}
	}
}

// pump polls all sides in turn until done returns true.
func (r *rig) pump(what string, done func() bool) {
	r.Helper()
	for end := time.Now().Add(patience); !done(); r.idle() {
		for _, s := range r.sides {
			s.poll()
		}
		if time.Now().After(end) && !done() {
			r.Fatalf("still waiting: %s", what)
		}
	}
}

// quiet polls all sides quietRounds times, so that unexpected entries get into the logs of the
// sides.
func (r *rig) quiet() {
	r.Helper()
	for range quietRounds {
		for _, s := range r.sides {
			s.poll()
		}
		r.idle()
	}
}

// ok ends the test on an error.
func (r *rig) ok(what string, err error) {
	r.Helper()
	if err != nil {
		r.Fatalf("%s: %v", what, err)
	}
}

// is ends the test if err does not wrap target.
func (r *rig) is(what string, err, target error) {
	r.Helper()
	if !errors.Is(err, target) {
		r.Fatalf("%s: %v, want %v", what, err, target)
	}
}

// that ends the test if the argument named holds is false.
func (r *rig) that(holds bool, format string, arguments ...any) {
	r.Helper()
	if !holds {
		r.Fatalf(format, arguments...)
	}
}

// equal ends the test if the values are not equal.
func (r *rig) equal(what string, got, want any) {
	r.Helper()
	if got != want {
		r.Fatalf("%s: %v, want %v", what, got, want)
	}
}

// state checks the state of an endpoint.
func (r *rig) state(ep *verbs.Endpoint, want verbs.State) {
	r.Helper()
	s, err := ep.Status()
	r.ok("status", err)
	r.equal("state", s.State, want)
}

// sameData checks that private data are equal. If the adapter pads private data, sameData ignores
// zeros at the end.
func (r *rig) sameData(s *side, got, want []byte) {
	r.Helper()
	r.that(len(got) >= len(want) && bytes.Equal(got[:len(want)], want), "private data %x, want %x", got, want)
	r.that(s.limits.PadsPrivateData || len(got) == len(want), "%d bytes of private data, want %d", len(got), len(want))
	r.that(len(bytes.Trim(got[len(want):], "\x00")) == 0, "padding %x is not zero", got[len(want):])
}

// pattern returns n bytes that depend on a key.
func pattern(key byte, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = key + byte(i*7) ^ byte(i>>8)
	}
	return b
}
