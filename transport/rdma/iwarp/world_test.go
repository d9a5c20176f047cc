package iwarp_test

import (
	goruntime "runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

const (
	// patience is the timeout of a test that would otherwise hang.
	patience = 30 * time.Second
	// loopback is the interface of the tests.
	loopback  = "127.0.0.1"
	allRights = verbs.AccessLocalWrite | verbs.AccessRemoteRead | verbs.AccessRemoteWrite
)

// side is an adapter with some registered memory, and with one completion queue for all completions and
// events.
type side struct {
	tb       testing.TB
	provider *iwarp.Provider
	adapter  *verbs.Adapter
	domain   *verbs.ProtectionDomain
	queue    *verbs.CompletionQueue
	region   *verbs.MemoryRegion
	memory   []byte
	log      []verbs.Completion
	into     [64]verbs.Completion
}

// newSide opens an adapter on loopback and registers memory. The argument memory is the number of bytes.
func newSide(tb testing.TB, c iwarp.Config, memory int) *side {
	tb.Helper()
	provider := iwarp.New(c)
	adapter, err := verbs.Open(provider, loopback)
	require.NoError(tb, err)
	s := wrap(tb, adapter, memory)
	s.provider = provider
	return s
}

// wrap makes a side of an adapter. The adapter is closed when the test ends.
func wrap(tb testing.TB, adapter *verbs.Adapter, memory int) *side {
	tb.Helper()
	s := &side{tb: tb, adapter: adapter, memory: make([]byte, memory)}
	var err error
	tb.Cleanup(func() { require.NoError(tb, s.adapter.Close()) })
	s.domain, err = s.adapter.NewProtectionDomain()
	require.NoError(tb, err)
	s.queue, err = s.adapter.NewCompletionQueue(1 << 16)
	require.NoError(tb, err)
	s.region, err = s.domain.Register(s.memory, allRights)
	require.NoError(tb, err)
	return s
}

// endpoint makes an endpoint. The functions changes modify the attributes of the endpoint before it is
// made.
func (s *side) endpoint(changes ...func(*verbs.EndpointAttributes)) *verbs.Endpoint {
	s.tb.Helper()
	a := s.adapter.Attributes().Endpoint
	for _, change := range changes {
		change(&a)
	}
	ep, err := s.adapter.NewEndpoint(verbs.EndpointConfig{
		Domain: s.domain, Receives: s.queue, Requests: s.queue, Connections: s.queue, Attributes: &a,
	})
	require.NoError(s.tb, err)
	return ep
}

// listen listens on a free port.
func (s *side) listen() *verbs.Listener {
	s.tb.Helper()
	l, err := s.adapter.Listen(verbs.ListenOptions{Queue: s.queue})
	require.NoError(s.tb, err)
	return l
}

// poll moves completions and events from the queue to the log.
func (s *side) poll() int {
	n := s.queue.Poll(s.into[:])
	s.log = append(s.log, s.into[:n]...)
	return n
}

// await polls the sides until the log of s has an entry that matches, and removes the entry from the log.
func (s *side) await(what string, match func(*verbs.Completion) bool, others ...*side) verbs.Completion {
	s.tb.Helper()
	for end := time.Now().Add(patience); ; goruntime.Gosched() {
		for i := range s.log {
			if c := s.log[i]; match(&c) {
				s.log = append(s.log[:i], s.log[i+1:]...)
				return c
			}
		}
		n := s.poll()
		for _, o := range others {
			n += o.poll()
		}
		if n == 0 && time.Now().After(end) {
			require.FailNow(s.tb, "still waiting", "%s; the log is %v", what, s.log)
		}
	}
}

// event waits for a connection event of an endpoint.
func (s *side) event(ep *verbs.Endpoint, others ...*side) *verbs.Event {
	s.tb.Helper()
	return s.await("event", func(c *verbs.Completion) bool {
		return c.Stream == verbs.StreamConnection && c.Endpoint == ep
	}, others...).Event
}

// request waits for a connection request.
func (s *side) request(others ...*side) *verbs.ConnectionRequest {
	s.tb.Helper()
	return s.await("request", func(c *verbs.Completion) bool { return c.Stream == verbs.StreamConnectionRequest }, others...).Event.Request
}

// done waits for the completion of an endpoint's work request with this ID.
func (s *side) done(ep *verbs.Endpoint, id uint64, others ...*side) verbs.Completion {
	s.tb.Helper()
	return s.await("completion", func(c *verbs.Completion) bool {
		return (c.Stream == verbs.StreamRequest || c.Stream == verbs.StreamReceive) && c.Endpoint == ep && c.ID == id
	}, others...)
}

// connectOptions returns options without a timeout.
func connectOptions(p *verbs.ConnParam) verbs.ConnectOptions {
	return verbs.ConnectOptions{Timeout: verbs.TimeoutInfinite, Param: p}
}

// sameProvider returns the options of connectOptions for a peer that uses this provider.
func sameProvider(p *verbs.ConnParam) verbs.ConnectOptions {
	o := connectOptions(p)
	o.Flags = verbs.ConnectSameProvider
	return o
}

// join connects an endpoint of a with an endpoint of b.
func join(tb testing.TB, a, b *side, changes ...func(*verbs.EndpointAttributes)) (*verbs.Endpoint, *verbs.Endpoint) {
	tb.Helper()
	l := b.listen()
	x, y := a.endpoint(changes...), b.endpoint(changes...)
	require.NoError(tb, x.Connect(l.Address(), sameProvider(nil)))
	require.NoError(tb, b.request(a).Accept(y, nil))
	require.Equal(tb, verbs.EventEstablished, a.event(x, b).Type)
	require.Equal(tb, verbs.EventEstablished, b.event(y, a).Type)
	require.NoError(tb, l.Close())
	return x, y
}

// fill writes a pattern that depends on a key.
func fill(b []byte, key byte) {
	for i := range b {
		b[i] = key + byte(i*7) ^ byte(i>>8) ^ byte(i>>16)
	}
}

// pattern returns the bytes that fill writes.
func pattern(n int, key byte) []byte {
	b := make([]byte, n)
	fill(b, key)
	return b
}
