package message_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
)

// member is a message.Peer whose messages travel through channels of this process.
type member struct {
	rank, size int
	lanes      *lanes
	// failAfter counts down to the operation that fails. If it is negative, no operation fails.
	failAfter int
	done      chan struct{}
	scratch   []byte
	// sent counts the messages that the member has sent. volume counts the bytes of these messages.
	sent, volume int
	started      []started
}

// started is the receive of an exchange that has been started.
type started struct {
	from int
	in   []byte
}

var _ message.Peer = (*member)(nil)

var errInjected = errors.New("injected")

func (m *member) Rank() int { return m.rank }
func (m *member) Size() int { return m.size }

func (m *member) fail() bool {
	m.failAfter--
	return m.failAfter == -1
}

func (m *member) Send(to int, b []byte) error {
	if m.fail() {
		return errInjected
	}
	m.sent++
	m.volume += len(b)
	m.lanes.of(m.rank, to) <- append([]byte(nil), b...)
	return nil
}

func (m *member) Recv(from int, b []byte) error {
	if m.fail() {
		return errInjected
	}
	select {
	case got := <-m.lanes.of(from, m.rank):
		if len(got) != len(b) {
			return fmt.Errorf("rank %d got %d bytes from %d instead of %d", m.rank, len(got), from, len(b))
		}
		copy(b, got)
		return nil
	case <-m.done:
		return errors.New("peer gave up")
	}
}

func (m *member) Exchange(to int, out []byte, from int, in []byte) error {
	if err := m.Send(to, out); err != nil {
		return err
	}
	return m.Recv(from, in)
}

func (m *member) Start(to int, out []byte, from int, in []byte) error {
	m.started = append(m.started, started{from, in})
	return m.Send(to, out)
}

func (m *member) Complete() error {
	for _, s := range m.started {
		if err := m.Recv(s.from, s.in); err != nil {
			return err
		}
	}
	m.started = nil
	return nil
}

func (*member) Copy(dst, src []byte) int { return kernel.Copy(dst, src) }

// Scratch returns memory that is filled with nonzero bytes, so that an algorithm that relies on
// zeros fails.
func (m *member) Scratch(n int) []byte {
	m.scratch = make([]byte, n)
	for i := range m.scratch {
		m.scratch[i] = 0xee
	}
	return m.scratch
}

// lanes holds the channels of the pairs of ranks that have exchanged messages.
type lanes struct {
	mu  sync.Mutex
	all map[[2]int]chan []byte
}

func (l *lanes) of(from, to int) chan []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	lane := l.all[[2]int{from, to}]
	if lane == nil {
		lane = make(chan []byte, 64)
		l.all[[2]int{from, to}] = lane
	}
	return lane
}

func group(size int) []*member {
	all, done := &lanes{all: make(map[[2]int]chan []byte)}, make(chan struct{})
	members := make([]*member, size)
	for r := range members {
		members[r] = &member{rank: r, size: size, lanes: all, failAfter: -1, done: done}
	}
	return members
}

// run runs fn as every rank. It requires that all ranks succeed and that no message is left
// unreceived.
func run(t *testing.T, size int, fn func(p message.Peer) error) {
	t.Helper()
	members := group(size)
	errs := make([]error, size)
	var failed sync.Once
	var wg sync.WaitGroup
	for r, m := range members {
		wg.Go(func() {
			if errs[r] = fn(m); errs[r] != nil {
				failed.Do(func() { close(m.done) })
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	for pair, lane := range members[0].lanes.all {
		require.Empty(t, lane, "message from %d to %d left over", pair[0], pair[1])
	}
}
