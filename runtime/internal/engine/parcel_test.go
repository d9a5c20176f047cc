package engine_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// courier notes what it is handed.
type courier struct {
	mu      sync.Mutex
	bodies  []string
	parcels []engine.Parcel
	credits []*engine.Link
	refused []*engine.Link
	lost    []int
	memory  []*engine.Message
	closed  []uint32
}

func (c *courier) Parcel(_ int, p engine.Parcel, body []byte, memory *engine.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parcels = append(c.parcels, p)
	c.bodies = append(c.bodies, string(body))
	c.memory = append(c.memory, memory)
}

func (c *courier) Credit(l *engine.Link)  { c.credits = append(c.credits, l) }
func (c *courier) Refused(l *engine.Link) { c.refused = append(c.refused, l) }
func (c *courier) Closed(_ int, link uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = append(c.closed, link)
	c.bodies = append(c.bodies, fmt.Sprint("end of ", link))
}
func (c *courier) Lost(peer int, _ error) { c.lost = append(c.lost, peer) }

// count returns how many parcels came.
func (c *courier) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.bodies)
}

// couriers makes two engines with couriers.
func couriers(t *testing.T, o transporttest.FakeOptions) (*world, [2]*courier) {
	t.Helper()
	w := newWorld(t, 2, o, nil)
	c := [2]*courier{{}, {}}
	for i, e := range w.engines {
		e.SetCourier(c[i])
	}
	return w, c
}

// soonTrue waits for what comes in the background.
func soonTrue(t *testing.T, f func() bool) {
	t.Helper()
	require.Eventually(t, f, 10*time.Second, time.Millisecond)
}

// Parcels arrive in order, heads before bodies, whatever the lane refuses.
func TestParcelsArriveInOrder(t *testing.T) {
	w, c := couriers(t, transporttest.FakeOptions{Seed: 1, AgainRate: 0.3, ConnectPolls: 10, DelayPolls: 4})
	l, err := w.engines[0].NewLink(1, "owner", nil, nil)
	require.NoError(t, err)
	require.Equal(t, uint32(1), l.Number())
	require.Equal(t, 1, l.Rank())
	require.Equal(t, "owner", l.Owner)
	want := []string{}
	for i := range 300 {
		p := engine.Parcel{Link: l.Number(), Tag: uint32(i), Type: 1<<32 - 1, ID: uint32(i) << 8}
		sent, err := w.engines[0].SendParcel(l, p, []byte{byte(i)}, []byte("body"), 64)
		require.NoError(t, err)
		require.True(t, sent)
		want = append(want, string(rune(0))+"body")
		want[i] = string([]byte{byte(i)}) + "body"
	}
	soonTrue(t, func() bool { return c[1].count() == 300 })
	require.Equal(t, want, c[1].bodies)
	for i, p := range c[1].parcels {
		require.Equal(t, engine.Parcel{Link: 1, Tag: uint32(i), Type: 1<<32 - 1, ID: uint32(i) << 8}, p)
	}
	_, err = w.engines[0].NewLink(0, nil, nil, nil)
	require.ErrorIs(t, err, engine.ErrAddress)
	_, err = w.engines[0].NewLink(2, nil, nil, nil)
	require.ErrorIs(t, err, engine.ErrAddress)
	_, err = w.engines[0].SendParcel(l, engine.Parcel{}, nil, make([]byte, 5000), 0)
	require.ErrorIs(t, err, transport.ErrTooLong)
}

// A link takes its window and no more, until it is granted more; another link is
// not concerned, nor is what costs nothing.
func TestLinkCredit(t *testing.T) {
	w, c := couriers(t, transporttest.FakeOptions{})
	e := w.engines[0]
	full, err := e.NewLink(1, nil, nil, nil)
	require.NoError(t, err)
	other, err := e.NewLink(1, nil, nil, nil)
	require.NoError(t, err)
	send := func(l *engine.Link, cost uint32) bool {
		sent, err := e.SendParcel(l, engine.Parcel{Link: l.Number()}, nil, nil, cost)
		require.NoError(t, err)
		return sent
	}
	require.True(t, send(full, engine.LinkWindow/2))
	require.True(t, send(full, engine.LinkWindow/2))
	require.False(t, send(full, 1))
	require.True(t, send(full, 0))
	require.True(t, send(other, 1))
	waited := make(chan error)
	go func() { waited <- e.AwaitCredit(full, "tell") }()
	soonTrue(t, func() bool { return len(e.Blocked()) == 1 })
	w.engines[1].Grant(0, full.Number(), engine.LinkWindow/2+engine.LinkWindow, new(bool))
	require.NoError(t, <-waited)
	require.Equal(t, []*engine.Link{full}, c[0].credits)
	require.True(t, send(full, engine.LinkWindow/2))
	require.False(t, send(full, 1))
	// More than was ever sent is no grant.
	w.engines[1].Grant(0, full.Number(), 10*engine.LinkWindow, new(bool))
	soonTrue(t, func() bool { _, err := e.SendParcel(full, engine.Parcel{}, nil, nil, 0); return err != nil })
	var lost *engine.PeerError
	_, err = e.SendParcel(other, engine.Parcel{}, nil, nil, 1)
	require.ErrorAs(t, err, &lost)
	require.ErrorIs(t, err, engine.ErrProtocol)
	require.Equal(t, []int{1}, c[0].lost)
	require.NoError(t, e.AwaitCredit(full, "tell"), "nothing to wait for")
	require.ErrorIs(t, e.Down(1), engine.ErrProtocol)
	require.NoError(t, e.Down(0))
	require.ErrorIs(t, e.Down(2), engine.ErrAddress)
}

// First parcels of links that several goroutines make at a time travel in the order
// of their numbers.
func TestFirstParcelsTravelInOrder(t *testing.T) {
	w, c := couriers(t, transporttest.FakeOptions{})
	const makers, links = 4, 200
	var wg sync.WaitGroup
	for i := range makers {
		wg.Go(func() {
			for range links {
				_, err := w.engines[0].NewLink(1, nil, &engine.Parcel{Tag: uint32(i), ID: 7}, []byte("name"))
				require.NoError(t, err)
			}
		})
	}
	wg.Wait()
	soonTrue(t, func() bool { return c[1].count() == makers*links })
	for i, p := range c[1].parcels {
		require.Equal(t, engine.Parcel{Link: uint32(i + 1), Tag: p.Tag, ID: 7}, p)
		require.Equal(t, "name", c[1].bodies[i])
	}
	_, err := w.engines[0].NewLink(1, nil, &engine.Parcel{}, make([]byte, 5000))
	require.ErrorIs(t, err, transport.ErrTooLong)
	w.fake.Kill(1, errors.New("killed"))
	soonTrue(t, func() bool { _, err := w.engines[0].NewLink(1, nil, nil, nil); return err != nil })
}
