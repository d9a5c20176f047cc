package kernel

import (
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/connection"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/rdmacm"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// plant makes objects whose Close returns EBUSY while an object that uses them is open.
type plant struct {
	mu    sync.Mutex
	open  map[string]bool
	ended []string
}

// part is an object of a plant.
type part struct {
	adapter
	channel
	completions
	protection
	pair

	of   *plant
	name string
	// users names the objects that have to be closed before this object. gate delays Close if gate is not nil.
	users []string
	gate  chan struct{}
	// found holds the available completions. Closing the queue pair discards them.
	found *[]uverbs.Completion
}

func (p *plant) part(name string, users ...string) *part {
	p.open[name] = true
	return &part{of: p, name: name, users: users}
}

func (o *part) Close() error {
	if o.gate != nil {
		<-o.gate
	}
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	for _, u := range o.users {
		if o.of.open[u] {
			return unix.EBUSY
		}
	}
	if !o.of.open[o.name] {
		return unix.EBADF
	}
	delete(o.of.open, o.name)
	o.of.ended = append(o.of.ended, o.name)
	if o.found != nil {
		*o.found = nil
	}
	return nil
}

func (o *part) PostReceives([]uverbs.ReceiveRequest) (int, error) { return 0, nil }

func (o *part) SetState(uverbs.State) error { return nil }

func (o *part) Poll(out []uverbs.Completion) int {
	n := copy(out, *o.found)
	*o.found = (*o.found)[n:]
	return n
}

// silent is a driver of rdma_cm that has no connection IDs (rdma_cm_id).
type silent struct {
	rdmacm.Driver
	of *plant
}

func (s silent) Close() error {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.of.ended = append(s.of.ended, "connections")
	return nil
}

// TestLingering closes an adapter during an attempt to connect. The test checks that everything is closed when
// the attempt has ended, and that each object is closed after the objects that use it.
func TestLingering(t *testing.T) {
	for _, lingers := range []bool{true, false} {
		plant := &plant{open: map[string]bool{}}
		read, write, err := os.Pipe()
		require.NoError(t, err)
		wakeup, err := unix.Dup(int(write.Fd()))
		require.NoError(t, err)
		require.NoError(t, write.Close())
		d := &device{
			context: plant.part("context", "domain", "shared", "queue", "channel", "pair"), channel: plant.part("channel", "queue"), wakeup: wakeup,
			connections: connection.New(connection.Config{Channel: rdmacm.New(silent{of: plant})}),
			queues:      []*completionQueue{{queue: plant.part("queue", "pair")}},
		}
		q := plant.part("pair")
		q.gate = make(chan struct{})
		p := &queuePair{device: d, pair: q}
		shared := &sharedReceives{device: d, queue: plant.part("shared", "pair")}
		pd := &domain{device: d, domain: plant.part("domain", "shared", "pair")}
		if lingers {
			p.linger()
		} else {
			close(q.gate)
			require.NoError(t, q.Close())
		}
		shared.Close()
		require.NoError(t, pd.Close())
		require.NoError(t, d.Close())
		if lingers {
			plant.mu.Lock()
			require.Empty(t, plant.ended, "nothing is closed before the attempt has ended")
			plant.mu.Unlock()
			close(q.gate)
		}
		n, _ := read.Read(make([]byte, 1)) // returns when the last descriptor is closed
		require.Zero(t, n)
		require.NoError(t, read.Close())
		plant.mu.Lock()
		require.Empty(t, plant.open)
		if lingers {
			require.Equal(t, []string{"pair", "connections", "shared", "domain", "queue", "channel", "context"}, plant.ended)
		} else {
			require.Equal(t, []string{"pair", "shared", "domain", "connections", "queue", "channel", "context"}, plant.ended)
		}
		plant.mu.Unlock()
	}
}

// TestDomainInUse checks that Close of a protection domain returns the error EBUSY if objects of the consumer
// use the domain. The provider assumes this if the kernel returns EBUSY and no lingering queue pair
// (device.lingering) exists.
func TestDomainInUse(t *testing.T) {
	plant := &plant{open: map[string]bool{"region": true}}
	d := &device{}
	pd := &domain{device: d, domain: plant.part("domain", "region")}
	require.ErrorIs(t, pd.Close(), unix.EBUSY)
	require.Empty(t, d.left)
}

// returned stores the receives that a queue pair has given back.
type returned struct {
	provider.Receives
	numbers  []uint64
	statuses []provider.Status
}

func (r *returned) Fail(f *provider.Receive, s provider.Status) {
	r.numbers, r.statuses = append(r.numbers, f.Number), append(r.statuses, s)
}

// sharing returns a queue pair with three posted receives in a shared queue. found points to the completions
// that the device has for the queue pair.
func sharing(found *[]uverbs.Completion) (*queuePair, *returned) {
	plant := &plant{open: map[string]bool{}}
	queue := plant.part("queue")
	queue.found = found
	d := &device{pairs: map[uint32]*queuePair{}, wakeup: -1}
	shared := &sharedReceives{device: d, posted: make([]*provider.Receive, 3)}
	for i := range shared.posted {
		shared.posted[i] = &provider.Receive{Number: uint64(i)}
	}
	back := &returned{}
	q := plant.part("pair")
	q.found = found
	p := &queuePair{
		device: d, pair: q, number: 7, shared: shared, config: provider.QueuePairConfig{Receives: back},
		queue: &completionQueue{queue: queue, shared: map[*sharedReceives]int{shared: 1}},
	}
	d.queues, d.pairs[7] = []*completionQueue{p.queue}, p
	p.Connection = connection.New(connection.Config{}).NewConnection(p, (*outcome)(p))
	return p, back
}

func arrivalOf(number uint64, s uverbs.Status) uverbs.Completion {
	return uverbs.Completion{ID: receiveBit | number, QueuePair: 7, Status: s}
}

// TestFlushedBeforeTheEnd makes the device flush the shared receives of a failed queue pair. The test checks
// that the provider gives them back before it destroys the queue pair, because destroying it discards its
// completions.
func TestFlushedBeforeTheEnd(t *testing.T) {
	var found []uverbs.Completion
	p, back := sharing(&found)
	p.established = true
	p.Fail()
	require.Empty(t, back.numbers)
	found = []uverbs.Completion{arrivalOf(0, uverbs.StatusFlushed), arrivalOf(2, uverbs.StatusSuccess)}
	p.Close()
	require.Equal(t, []uint64{0, 2}, back.numbers)
	require.Equal(t, []provider.Status{provider.StatusFlushed, provider.StatusFlushed}, back.statuses)
}

// TestEarlyOfAFailedConnection makes messages arrive before the connection is established, and then makes the
// connection fail. The test checks that the provider gives back the receives of these messages exactly once.
func TestEarlyOfAFailedConnection(t *testing.T) {
	found := []uverbs.Completion{arrivalOf(0, uverbs.StatusSuccess)}
	p, back := sharing(&found)
	p.device.poll()
	require.Empty(t, back.numbers)
	found = []uverbs.Completion{arrivalOf(1, uverbs.StatusSuccess)}
	p.Fail()
	require.Equal(t, []uint64{0, 1}, back.numbers)
	p.Close()
	require.Equal(t, []uint64{0, 1}, back.numbers)
	require.Equal(t, []provider.Status{provider.StatusFlushed, provider.StatusFlushed}, back.statuses)
}
