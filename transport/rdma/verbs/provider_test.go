package verbs_test

import (
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// stage is a provider that the test controls. It stores the queue pairs and service points that are made, and the
// shared receives that are posted. The test makes the upcalls from within Progress.
type stage struct {
	attributes verbs.Attributes
	pairs      []*actor
	sinks      []provider.ServicePointConfig
	shared     *sharedActor
	adapter    provider.Adapter
	// grants changes the attributes that the stage grants to queue pairs.
	grants func(*verbs.EndpointAttributes)
	// registering is called by Register without the lock. It may be nil.
	registering func()
	awake       chan struct{}
	key         atomic.Uint32
	// registered and deregistered are the numbers of regions that were registered and deregistered. closed is the
	// number of calls of Close.
	registered, deregistered atomic.Int64
	closed                   int
	// progress is called by Progress with the adapter's lock held.
	progress func() (int, error)
	// asleep gets the deadline of every Sleep. It may be nil.
	asleep chan time.Time
	// leaves, if not nil, is called at the end of every Sleep.
	leaves func()
	busy   bool // Idle returns false
}

// actor is a queue pair of a stage.
type actor struct {
	provider.QueuePairConfig
	proposal                                provider.Proposal
	contacted                               bool
	posted                                  func()
	disconnected, closed, drained, receives int
}

// sharedActor is a shared receive queue of a stage.
type sharedActor struct {
	provider.SharedReceiveConfig
	posted []*provider.Receive
	closed int
}

func (a *sharedActor) Post(r *provider.Receive) { a.posted = append(a.posted, r) }
func (a *sharedActor) Close()                   { a.closed++ }

// stageDomain is a protection domain of a stage.
type stageDomain struct {
	stage  *stage
	closed int
}

func (d *stageDomain) Deregister(provider.Registered) error {
	d.stage.deregistered.Add(1)
	return nil
}

func (d *stageDomain) Close() error {
	d.closed++
	return nil
}

func (d *stageDomain) Register([]byte, verbs.Access) (provider.Registered, error) {
	if d.stage.registering != nil {
		d.stage.registering()
	}
	d.stage.registered.Add(1)
	key := d.stage.key.Add(1)
	return provider.Registered{LKey: key, RKey: key}, nil
}

// These constants are the headroom and the tailroom of a stage for FlagRoom, in bytes.
const (
	stageHeadroom = 3
	stageTailroom = 2
)

func newStage() *stage {
	endpoint := verbs.EndpointAttributes{
		MaxMessage: 4096, MaxRDMA: 4096, MaxReceives: 16, MaxRequests: 16, MaxReceiveSegments: 2, MaxRequestSegments: 2, ReadsIn: 2, ReadsOut: 2,
	}
	return &stage{
		awake: make(chan struct{}, 1),
		attributes: verbs.Attributes{
			Provider: "stage", Services: []verbs.Service{verbs.ServiceReliable}, QoS: []verbs.QoS{verbs.QoSBestEffort},
			MaxMessage: 4096, MaxRDMA: 4096, MaxRequests: 64, MaxReceives: 64, MaxSegments: 4, MaxReadSegments: 1, MaxInline: 16,
			Headroom: stageHeadroom, Tailroom: stageTailroom,
			MaxReadsIn: 8, MaxReadsOut: 8, MaxSharedReceives: 64, MaxCompletions: 4096,
			MaxRequestData: 56, MaxAcceptData: 196, MaxRejectData: 148, Endpoint: endpoint,
		},
	}
}

func (s *stage) Name() string                  { return "stage" }
func (s *stage) Interfaces() ([]string, error) { return []string{"only"}, nil }
func (s *stage) Attributes() verbs.Attributes  { return s.attributes }
func (s *stage) Address() netip.AddrPort       { return netip.MustParseAddrPort("10.0.0.1:1") }
func (s *stage) Idle() bool                    { return !s.busy }
func (a *actor) Contacted() bool               { return a.contacted }
func (a *actor) ReceivesPosted()               { a.receives++ }
func (a *actor) Drain()                        { a.drained++ }
func (a *actor) Disconnect()                   { a.disconnected++ }
func (a *actor) Abort()                        { a.closed++ }
func (a *actor) Close()                        { a.closed++ }

func (s *stage) Open(_ string, a provider.Adapter) (provider.Device, error) {
	s.adapter = a
	return s, nil
}

func (s *stage) Close() error {
	s.closed++
	return nil
}

func (s *stage) NewProtectionDomain() (provider.ProtectionDomain, error) {
	return &stageDomain{stage: s}, nil
}

func (s *stage) NewSharedReceiveQueue(c provider.SharedReceiveConfig) (provider.SharedReceiveQueue, error) {
	s.shared = &sharedActor{SharedReceiveConfig: c}
	return s.shared, nil
}

func (s *stage) NewQueuePair(c provider.QueuePairConfig) (provider.QueuePair, verbs.EndpointAttributes, error) {
	a := &actor{QueuePairConfig: c}
	s.pairs = append(s.pairs, a)
	granted := c.Attributes
	if s.grants != nil {
		s.grants(&granted)
	}
	return a, granted, nil
}

// point is a service point of a stage.
type point struct{ *stage }

func (point) Close() {}

func (s *stage) Listen(c provider.ServicePointConfig) (provider.ServicePoint, error) {
	s.sinks = append(s.sinks, c)
	return point{s}, nil
}

func (s *stage) Progress() (int, error) {
	if s.progress == nil {
		return 0, nil
	}
	return s.progress()
}

func (s *stage) Sleep(until time.Time) {
	if s.leaves != nil {
		defer s.leaves()
	}
	if s.asleep != nil {
		s.asleep <- until
	}
	if until.IsZero() {
		<-s.awake
		return
	}
	select {
	case <-s.awake:
	case <-time.After(time.Until(until)):
	}
}

func (s *stage) Wake() {
	select {
	case s.awake <- struct{}{}:
	default:
	}
}

func (a *actor) Connect(_ netip.AddrPort, p *provider.Proposal) (netip.AddrPort, error) {
	a.proposal = *p
	return netip.MustParseAddrPort("10.0.0.1:2"), nil
}

func (a *actor) RequestsPosted() {
	if a.posted != nil {
		a.posted()
	}
}

// play is an adapter on a stage with one endpoint.
type play struct {
	*require.Assertions
	stage    *stage
	adapter  *verbs.Adapter
	domain   *verbs.ProtectionDomain
	queue    *verbs.CompletionQueue
	region   *verbs.MemoryRegion
	endpoint *verbs.Endpoint
	actor    *actor
}

func newPlay(t *testing.T, change func(c *verbs.EndpointConfig)) *play {
	t.Helper()
	p := &play{Assertions: require.New(t), stage: newStage()}
	var err error
	p.adapter, err = verbs.Open(p.stage, "only")
	p.NoError(err)
	t.Cleanup(func() { p.NoError(p.adapter.Close()) })
	p.domain, err = p.adapter.NewProtectionDomain()
	p.NoError(err)
	p.queue, err = p.adapter.NewCompletionQueue(1024)
	p.NoError(err)
	p.region, err = p.domain.Register(make([]byte, 4096), verbs.AccessLocalWrite)
	p.NoError(err)
	p.endpoint, p.actor = p.make(change)
	return p
}

// make makes another endpoint.
func (p *play) make(change func(c *verbs.EndpointConfig)) (*verbs.Endpoint, *actor) {
	attributes := p.stage.attributes.Endpoint
	c := verbs.EndpointConfig{Domain: p.domain, Receives: p.queue, Requests: p.queue, Connections: p.queue, Attributes: &attributes}
	if change != nil {
		change(&c)
	}
	ep, err := p.adapter.NewEndpoint(c)
	p.NoError(err)
	return ep, p.stage.pairs[len(p.stage.pairs)-1]
}

// within calls its argument with the adapter's lock held.
func (p *play) within(upcalls func()) {
	p.next(upcalls)
	p.adapter.Progress()
}

// next makes the next call of Progress call its argument.
func (p *play) next(upcalls func()) {
	p.stage.progress = func() (int, error) {
		p.stage.progress = nil
		upcalls()
		return 1, nil
	}
}

var remote = netip.MustParseAddrPort("10.0.0.2:7471")

// connect brings an endpoint to StateConnected and polls its EventEstablished.
func (p *play) connect(ep *verbs.Endpoint, a *actor, out int) {
	p.NoError(ep.Connect(remote, verbs.ConnectOptions{Timeout: verbs.TimeoutInfinite, Param: &verbs.ConnParam{ResponderResources: 2, InitiatorDepth: out}}))
	p.within(func() {
		p.NoError(a.Upcalls.Established(&provider.Proposal{ResponderResources: out}, netip.AddrPort{}, remote))
	})
	p.Equal([]verbs.EventType{verbs.EventEstablished}, p.events())
}

// poll returns all queued entries.
func (p *play) poll() []verbs.Completion {
	into := make([]verbs.Completion, 1024)
	return into[:p.queue.Poll(into)]
}

// events returns the types of the queued entries. The test fails if one of them is not an event.
func (p *play) events() []verbs.EventType {
	var types []verbs.EventType
	for _, c := range p.poll() {
		p.NotNil(c.Event)
		types = append(types, c.Event.Type)
	}
	return types
}
