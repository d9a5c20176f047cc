package kernel

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// speaker is an adapter whose events the test chooses. Each read returns one of them.
type speaker struct {
	adapter
	events []uverbs.Event
	fd     int
	// silent is the number of reads that return no event before the first event is returned.
	silent int
	// asked counts the reads.
	asked int
	// then is called when the last event is read. It may be nil.
	then func()
	// refusal is the error of a read when there are no events.
	refusal error
}

func (s *speaker) EventFD() int { return s.fd }

func (s *speaker) NextEvent() (uverbs.Event, bool, error) {
	s.asked++
	if s.silent > 0 {
		s.silent--
		return uverbs.Event{}, false, nil
	}
	if len(s.events) == 0 {
		return uverbs.Event{}, false, s.refusal
	}
	e := s.events[0]
	if s.events = s.events[1:]; len(s.events) == 0 && s.then != nil {
		s.then()
	}
	return e, true, nil
}

// TestEvents checks the effect of the kernel's events about the device, the completion queues, the port in use,
// the queue pairs and the shared receive queues. Events about other objects have no effect.
func TestEvents(t *testing.T) {
	for _, c := range []struct {
		name    string
		event   uverbs.Event
		all     []provider.EventKind
		failure error
		ended   bool
	}{
		{"device", uverbs.Event{Type: uverbs.EventDeviceFatal}, []provider.EventKind{provider.EventRemoved}, errFatal, false},
		{"completion queue", uverbs.Event{Type: uverbs.EventCompletionQueueError}, nil, errCompletions, false},
		{"shared receive queue", uverbs.Event{Type: uverbs.EventSharedQueueError}, nil, errSharedFailed, false},
		{"port down", uverbs.Event{Type: uverbs.EventPortError, Element: 2}, []provider.EventKind{provider.EventPortDown}, nil, false},
		{"port up", uverbs.Event{Type: uverbs.EventPortActive, Element: 2}, []provider.EventKind{provider.EventPortUp}, nil, false},
		{"other port down", uverbs.Event{Type: uverbs.EventPortError, Element: 1}, nil, nil, false},
		{"other port up", uverbs.Event{Type: uverbs.EventPortActive, Element: 3}, nil, nil, false},
		{"queue pair", uverbs.Event{Type: uverbs.EventQueuePairFatal, Element: 5}, nil, nil, true},
		{"its request", uverbs.Event{Type: uverbs.EventQueuePairRequest, Element: 5}, nil, nil, true},
		{"its access", uverbs.Event{Type: uverbs.EventQueuePairAccess, Element: 5}, nil, nil, true},
		{"other queue pair", uverbs.Event{Type: uverbs.EventQueuePairFatal, Element: 6}, nil, nil, false},
		{"last receive of another", uverbs.Event{Type: uverbs.EventLastReceive, Element: 6}, nil, nil, false},
		{"unknown", uverbs.Event{Type: 99, Element: 5}, nil, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &listener{}
			d := &device{adapter: l, name: "a0", port: 2, wakeup: -1, context: &speaker{events: []uverbs.Event{c.event}}}
			p := &queuePair{device: d, user: 5}
			d.pairs = map[uint32]*queuePair{7: p}
			for range 2 { // the second call must not change the state
				err := d.takeEvents()
				require.ErrorIs(t, d.failure, c.failure)
				require.Equal(t, c.all, l.all)
				if c.failure != nil && c.all == nil {
					require.ErrorIs(t, err, c.failure, "the device is there, and of no use")
					require.ErrorContains(t, err, "device a0")
				} else {
					require.NoError(t, err)
				}
			}
			require.Equal(t, c.failure == nil, d.failure == nil)
			require.Equal(t, c.ended, p.ending)
			require.False(t, p.last)
		})
	}
}

// TestLastReceive aborts a queue pair with shared receives. If the device announces the last receive with an
// event, the provider waits for this event before it destroys the queue pair. So the provider gets all receives
// back. The provider does not wait if the device announces nothing, or if the queue pair takes no shared
// receives.
func TestLastReceive(t *testing.T) {
	for _, c := range []struct {
		name                           string
		announces, receiving, isShared bool
		want                           []uint64
	}{
		{"waits", true, true, true, []uint64{0, 2}},
		{"software", false, true, true, nil},
		{"never connected", true, false, true, nil},
		{"receives of its own", true, true, false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var found []uverbs.Completion
			p, back := sharing(&found)
			fd, err := unix.Eventfd(1, unix.EFD_CLOEXEC) // readable from the start
			require.NoError(t, err)
			defer func() { require.NoError(t, unix.Close(fd)) }()
			p.user, p.receiving, p.device.announcesLast = 5, c.receiving, c.announces
			if !c.isShared {
				p.shared = nil
			}
			p.device.context = &speaker{
				fd: fd, silent: 3, events: []uverbs.Event{{Type: uverbs.EventLastReceive, Element: 5}},
				then: func() {
					found = []uverbs.Completion{arrivalOf(0, uverbs.StatusFlushed), arrivalOf(2, uverbs.StatusFlushed)}
				},
			}
			p.Abort()
			require.Equal(t, c.want, back.numbers)
			require.Equal(t, c.want != nil, p.last)
		})
	}
}

// TestNoLastReceive checks that the provider waits only for a bounded time if the event of the last receive does
// not come. It also checks that the provider does not wait if the device fails.
func TestNoLastReceive(t *testing.T) {
	var found []uverbs.Completion
	p, _ := sharing(&found)
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Close(fd)) }()
	p.receiving, p.device.announcesLast = true, true
	p.device.context = &speaker{fd: fd}
	require.True(t, p.awaitLast(time.Now()))
	require.False(t, p.last)
	p.device.context, p.device.adapter = &speaker{fd: fd, events: []uverbs.Event{{Type: uverbs.EventDeviceFatal}}}, &listener{}
	require.False(t, p.awaitLast(time.Now().Add(time.Hour)))
	require.ErrorIs(t, p.device.failure, errFatal)
}

// TestManyWithoutLastReceive tests a device that never sends the event of the last receive. The test checks
// that the provider waits, with the adapter's lock held, for about lastMost in total, however many queue pairs
// fail. If the device sends the event of a later queue pair, the provider still handles the event.
func TestManyWithoutLastReceive(t *testing.T) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Close(fd)) }()
	var found []uverbs.Completion
	first, _ := sharing(&found)
	d := first.device
	d.announcesLast, d.context = true, &speaker{fd: fd}
	next := func() *queuePair {
		p, _ := sharing(&found)
		p.device, p.receiving, p.user = d, true, 5
		return p
	}
	next().Fail()
	require.GreaterOrEqual(t, d.vainly, lastMost)
	for spent, i := d.vainly, 0; i < 50; i++ {
		events := d.context.(*speaker).asked
		next().Fail()
		require.Equal(t, events+1, d.context.(*speaker).asked, "the device is asked once, without waiting")
		require.GreaterOrEqual(t, d.vainly, spent)
	}
	late := next()
	d.pairs[late.number] = late
	d.context = &speaker{fd: fd, events: []uverbs.Event{{Type: uverbs.EventLastReceive, Element: 5}}}
	late.Fail()
	require.True(t, late.last)
}

// asked is a protection domain that stores the access rights that were requested. If they do not include
// AccessOnDemand, a real device would have to pin the memory. In this case asked returns the error refusal, which may
// be nil. Otherwise it returns the error pagingRefusal.
type asked struct {
	protection
	access                 uverbs.Access
	refusal, pagingRefusal error
}

func (a *asked) register(_ []byte, access uverbs.Access) (provider.Registered, io.Closer, error) {
	a.access = access
	if access&uverbs.AccessOnDemand == 0 {
		return provider.Registered{}, nil, a.refusal
	}
	return provider.Registered{}, nil, a.pagingRefusal
}

// TestPaging checks that a device with on-demand paging registers memory with paging if the memory cannot be
// pinned because of the limit of locked memory, unless peers use the memory for atomics. Otherwise no memory is
// paged.
func TestPaging(t *testing.T) {
	for _, c := range []struct {
		onDemand  bool
		access    provider.Access
		refusal   error
		paged, ok bool
	}{
		{true, provider.AccessRemoteRead, nil, false, true},
		{true, provider.AccessRemoteRead, &uverbs.MemlockError{Err: unix.ENOMEM}, true, true},
		{true, provider.AccessRemoteRead, &uverbs.MemlockError{Err: unix.EPERM}, true, true}, // the limit is 0
		{true, provider.AccessRemoteRead, unix.EINVAL, false, false},
		{true, provider.AccessLocalWrite | provider.AccessRemoteAtomic, unix.ENOMEM, false, false},
		{false, provider.AccessRemoteRead, unix.ENOMEM, false, false},
	} {
		into := &asked{refusal: c.refusal}
		d := &domain{device: &device{onDemand: c.onDemand}, domain: into, regions: map[uint32]io.Closer{}}
		_, err := d.Register(make([]byte, 1), c.access)
		require.Equal(t, c.ok, err == nil)
		require.Equal(t, c.paged, into.access&uverbs.AccessOnDemand != 0)
	}
}

// TestFaultOfARefusedRegistration checks that the Fault of a refused registration says whether the registration can
// succeed after other memory was deregistered.
func TestFaultOfARefusedRegistration(t *testing.T) {
	for refusal, want := range map[error]provider.Fault{
		unix.ENOMEM: provider.ErrInsufficientResources, unix.EAGAIN: provider.ErrInsufficientResources,
		unix.ENOSPC: provider.ErrInsufficientResources, &uverbs.MemlockError{Err: unix.ENOMEM}: provider.ErrInsufficientResources,
		unix.EFAULT: provider.ErrInvalidParameter, unix.EOPNOTSUPP: provider.ErrInvalidParameter, unix.EINVAL: provider.ErrInvalidParameter,
	} {
		d := &domain{device: &device{}, domain: &asked{refusal: refusal}, regions: map[uint32]io.Closer{}}
		_, err := d.Register(make([]byte, 1), provider.AccessRemoteRead)
		require.ErrorIs(t, err, refusal)
		var fault provider.Fault
		require.ErrorAs(t, err, &fault)
		require.Equal(t, want, fault, "%v", refusal)
	}
	// A device that can page memory, but not this memory, could still pin it later.
	d := &domain{device: &device{onDemand: true}, domain: &asked{refusal: unix.ENOMEM, pagingRefusal: unix.EINVAL}, regions: map[uint32]io.Closer{}}
	_, err := d.Register(make([]byte, 1), provider.AccessRemoteRead)
	require.ErrorIs(t, err, provider.ErrInsufficientResources)
	require.ErrorIs(t, err, unix.EINVAL)
}

// TestAbilities checks the description of a device. It must say that a device without shared receive queues
// cannot be used for jobs.
func TestAbilities(t *testing.T) {
	require.Equal(t, ", not for jobs: has no shared receive queues, all memory is pinned, relaxed ordering is asked for", abilitiesOf(&uverbs.Attributes{}, false))
	require.Equal(t, ", memory that cannot be pinned is paged on demand, relaxed ordering is asked for", abilitiesOf(&uverbs.Attributes{MaxSharedQueues: 1}, true))
}

// TestSinks checks the rights of memory that Reads fill. On iWARP adapters in hardware, peers get the right to
// write to such memory, and the attribute SinksAreWritable of the device is true. On siw and InfiniBand, peers do
// not get this right.
func TestSinks(t *testing.T) {
	const local = uverbs.AccessLocalWrite | uverbs.AccessRelaxedOrdering
	for _, c := range []struct {
		transport uverbs.Transport
		driver    uverbs.Driver
		want      uverbs.Access
	}{
		{uverbs.TransportIWARP, 4, local | uverbs.AccessRemoteWrite}, // cxgb4
		{uverbs.TransportIWARP, 9, local | uverbs.AccessRemoteWrite}, // irdma
		{uverbs.TransportIWARP, uverbs.DriverSIW, local},
		{uverbs.TransportInfiniBand, 1, local}, // mlx5
		{uverbs.TransportInfiniBand, 9, local}, // irdma as RoCE
	} {
		l, port := limits()
		at := placeOf(c.transport)
		at.device.Driver = c.driver
		into := &asked{}
		d := &domain{device: &device{attributes: attributesOf("x", at, l, port, 0)}, domain: into, regions: map[uint32]io.Closer{}}
		_, err := d.Register(make([]byte, 1), provider.AccessLocalWrite)
		require.NoError(t, err)
		require.Equal(t, c.want, into.access, "%v", c.driver)
		require.Equal(t, c.want != local, d.device.attributes.SinksAreWritable)
		_, err = d.Register(make([]byte, 1), provider.AccessRemoteRead)
		require.NoError(t, err)
		require.Equal(t, uverbs.AccessRemoteRead|uverbs.AccessRelaxedOrdering, into.access)
	}
}
