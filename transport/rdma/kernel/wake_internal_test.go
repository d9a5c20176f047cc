package kernel

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/connection"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// requests is a send queue of package verbs with the requests that are not taken yet. It stores the numbers of the
// requests that have failed.
type requests struct {
	provider.Sends
	left, taken []*provider.Request
	failed      []uint64
}

func (s *requests) Next() *provider.Request {
	if len(s.left) == 0 {
		return nil
	}
	r := s.left[0]
	s.left, s.taken = s.left[1:], append(s.taken, r)
	return r
}

func (s *requests) At(number uint64) *provider.Request { return s.taken[number] }

func (s *requests) Fail(r *provider.Request, _ provider.Status) {
	s.failed = append(s.failed, r.Number)
}

// post appends n requests.
func (s *requests) post(n int) {
	for range n {
		s.left = append(s.left, &provider.Request{Op: provider.OpSend, Number: uint64(len(s.taken) + len(s.left))})
	}
}

// picky is a queue pair that takes a given number of sends and then refuses one post. A later post of the same send
// would succeed. picky counts the sends that it has taken. It refuses all receives, also as a shared receive queue.
type picky struct {
	pair
	takes, posted int
	refusal       error
}

func (p *picky) PostSends(list []uverbs.SendRequest) (int, error) {
	n := min(len(list), max(p.takes-p.posted, 0))
	p.posted += n
	if n < len(list) {
		p.takes++ // so that a later post of the same request would succeed
		return n, p.refusal
	}
	return n, nil
}

func (p *picky) PostReceives([]uverbs.ReceiveRequest) (int, error) { return 0, p.refusal }

func (p *picky) SetState(uverbs.State) error { return nil }

func (p *picky) Close() error { return nil }

// still is a completion channel without events.
type still struct{ channel }

func (still) Next() (bool, error) { return false, nil }

// sleepless returns a device without queues. The result of woken is true if a call of Sleep would return at once.
func sleepless(t *testing.T, context adapter) (d *device, woken func() bool) {
	t.Helper()
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Close(fd)) })
	d = &device{
		adapter: &listener{}, name: "a0", context: context, channel: still{}, pairs: map[uint32]*queuePair{}, wakeup: fd,
		segments: make([]uverbs.Segment, postMost), attributes: provider.Attributes{MaxSegments: 1},
	}
	return d, func() bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		require.NoError(t, err)
		return n == 1
	}
}

// pairOf returns an established queue pair of a device.
func pairOf(d *device, p pair, s provider.Sends) *queuePair {
	q := &queuePair{
		device: d, pair: p, number: 7, user: 5, signals: signalsOf(64), established: true,
		config: provider.QueuePairConfig{Sends: s, Upcalls: happy{}},
	}
	q.Connection = connection.New(connection.Config{}).NewConnection(q, (*outcome)(q))
	d.pairs[q.number] = q
	return q
}

// TestNothingAfterARefusedRequest checks that no request is posted to the device after a request that the device has
// refused. Otherwise the peer would get a message without the messages before it.
func TestNothingAfterARefusedRequest(t *testing.T) {
	for _, takes := range []int{0, 1, postMost - 1, postMost} {
		d, _ := sleepless(t, nil)
		s, into := &requests{}, &picky{takes: takes, refusal: uverbs.ErrRequest}
		p := pairOf(d, into, s)
		s.post(2*postMost + 1)
		p.RequestsPosted()
		s.post(1)
		p.RequestsPosted()
		require.Equal(t, takes, into.posted)
		require.Equal(t, []uint64{uint64(takes)}, s.failed)
		require.True(t, p.ending)
	}
}

// TestWorkForProgressEndsSleep checks that a goroutine in Sleep, or about to sleep, wakes if another goroutine leaves
// work for Progress: a connection to break, a failure of the device, or requests that have to be posted later.
func TestWorkForProgressEndsSleep(t *testing.T) {
	refuses := &picky{refusal: unix.EIO}
	for name, leave := range map[string]func(*device){
		"a request is refused": func(d *device) {
			s := &requests{}
			s.post(1)
			pairOf(d, refuses, s).RequestsPosted()
		},
		"a shared receive is refused": func(d *device) {
			(&sharedReceives{device: d, queue: refuses, posted: make([]*provider.Receive, 1)}).Post(&provider.Receive{})
		},
		"the device has failed": func(d *device) {
			d.context = &speaker{fd: -1, events: []uverbs.Event{{Type: uverbs.EventDeviceFatal}}}
			d.announcesLast = true
			p := pairOf(d, refuses, nil)
			p.shared, p.receiving = &sharedReceives{}, true
			p.Abort()
		},
		"the passive side may not speak yet": func(d *device) {
			d.attributes.ActiveSpeaksFirst = true
			require.NoError(t, (*outcome)(pairOf(d, refuses, nil)).Established(nil, netip.AddrPort{}, netip.AddrPort{}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, woken := sleepless(t, &speaker{fd: -1})
			require.True(t, d.Idle())
			require.False(t, woken())
			leave(d)
			require.True(t, woken())
		})
	}
}

// unarmed is a completion queue that cannot be armed.
type unarmed struct {
	completions
	refusal error
}

func (u unarmed) Arm() error { return u.refusal }

// TestFailedQueueIsNoRemoval checks what the consumer learns after a completion queue cannot be armed, a shared receive
// cannot be posted, or the events of the device cannot be read: an error of the device, or its removal if the kernel
// returns EIO.
func TestFailedQueueIsNoRemoval(t *testing.T) {
	for name, fail := range map[string]func(*device, error){
		"arm": func(d *device, refusal error) {
			d.queues = []*completionQueue{{queue: unarmed{refusal: refusal}}}
			require.False(t, d.Idle())
			d.queues = nil
		},
		"post": func(d *device, refusal error) {
			s := &sharedReceives{device: d, queue: &picky{refusal: refusal}, posted: make([]*provider.Receive, 1)}
			s.Post(&provider.Receive{})
		},
		"events": func(d *device, refusal error) { d.context = &speaker{refusal: refusal} },
	} {
		for refusal, removal := range map[error]bool{unix.EINVAL: false, unix.EIO: true} {
			t.Run(fmt.Sprintf("%s, %v", name, refusal), func(t *testing.T) {
				d, _ := sleepless(t, &speaker{fd: -1})
				fail(d, refusal)
				err := d.takeEvents()
				d.fail(unix.ENOMEM) // only the first failure counts
				l := d.adapter.(*listener)
				if removal {
					require.NoError(t, err)
					require.Equal(t, []provider.EventKind{provider.EventRemoved}, l.all)
					err = l.last.Err
				}
				require.ErrorIs(t, err, refusal)
				require.ErrorContains(t, err, "device a0: ")
				require.ErrorIs(t, d.failure, refusal)
				require.Equal(t, removal, len(l.all) > 0)
			})
		}
	}
}

// inOrder holds the receives of an endpoint. It checks that they are reported in order, as package verbs does.
type inOrder struct {
	provider.Receives
	t        *testing.T
	list     []provider.Receive
	statuses []provider.Status
}

func (r *inOrder) At(number uint64) *provider.Receive { return &r.list[number] }

func (r *inOrder) Done(f *provider.Receive, _ provider.Arrival) { r.Fail(f, provider.StatusSuccess) }

func (r *inOrder) Fail(f *provider.Receive, s provider.Status) {
	require.EqualValues(r.t, len(r.statuses), f.Number, "a receive is reported out of turn")
	r.statuses = append(r.statuses, s)
}

// TestEarlyMessageThatDoesNotFit makes a peer send a message, and then a message that is longer than its receive,
// before package verbs knows that the connection is established. The test checks that the two receives are reported
// in order when the connection is established, and that the connection then breaks.
func TestEarlyMessageThatDoesNotFit(t *testing.T) {
	d, _ := sleepless(t, nil)
	p := pairOf(d, &picky{}, nil)
	into := &inOrder{t: t, list: []provider.Receive{{Number: 0}, {Number: 1}}}
	p.config.Receives, p.established = into, false
	d.report([]uverbs.Completion{arrivalOf(0, uverbs.StatusSuccess), arrivalOf(1, uverbs.StatusLocalLength)})
	require.Empty(t, into.statuses)
	require.NoError(t, (*outcome)(p).Established(nil, netip.AddrPort{}, netip.AddrPort{}))
	require.Equal(t, []provider.Status{provider.StatusSuccess, provider.StatusLocalLength}, into.statuses)
	require.Equal(t, []*queuePair{p}, d.broken)
}
