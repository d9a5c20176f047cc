package shm_test

import (
	"math/rand/v2"
	goruntime "runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// order is a Handler that checks that the messages of each peer arrive complete and in order.
type order struct {
	t    *testing.T
	next map[int]uint64
	left int
}

func (o *order) Arrive(peer int, h transport.Header, payload []byte) {
	if h.A != o.next[peer] || h.B != uint64(peer) || int(h.C) != len(payload) {
		o.t.Errorf("from %d: got message %d, want %d", peer, h.A, o.next[peer])
	}
	if want := pattern(len(payload), h.A); string(want) != string(payload) {
		o.t.Errorf("from %d: message %d of %d bytes is torn", peer, h.A, len(payload))
	}
	o.next[peer]++
	o.left--
}
func (o *order) Completed(int, uint64, uint64, error) {}
func (o *order) Down(d *transport.PeerDown)           { o.t.Error(d) }

// Messages of every pair of ranks arrive once, complete and in order. This holds for all sizes, and
// for messages in the inbox, in a ring, and while the lane changes between the inbox and a ring. If
// a rank has more peers than rings, the lanes of some pairs stay in the inbox.
func TestOrder(t *testing.T) {
	for _, ranks := range []int{2, 3, 12} {
		ts := local(t, ranks, false)
		const each = 600
		var wg sync.WaitGroup
		for me, tr := range ts {
			wg.Add(1)
			go func() {
				defer wg.Done()
				r := rand.New(rand.NewPCG(uint64(me), 7))
				o := &order{t: t, next: map[int]uint64{}, left: each * (ranks - 1)}
				for n := range uint64(each) {
					for peer := range ranks {
						if peer == me {
							continue
						}
						e, err := tr.Endpoint(peer)
						if err != nil {
							t.Error(err)
							return
						}
						size := r.IntN(100)
						if r.IntN(8) == 0 {
							size = r.IntN(e.Caps().MaxEager + 1)
						}
						h := transport.Header{A: n, B: uint64(me), C: uint64(size)}
						if err := sendAll(tr, o, e, h, pattern(size, n)); err != nil {
							t.Error(err)
							return
						}
					}
				}
				for o.left > 0 {
					if _, err := tr.Poll(o, 16); err != nil {
						t.Error(err)
						return
					}
					goruntime.Gosched()
				}
			}()
		}
		wg.Wait()
		require.False(t, t.Failed())
	}
}

// Messages that a rank sends in the inbox after it has returned its ring arrive after the messages
// that it sent in the ring. This holds even if the inbox is polled before the ring is empty.
func TestOrderOfTheWayBack(t *testing.T) {
	ts := local(t, 2, false)
	intoRing(t, ts[1], ts[0], 1, 0)
	ring := shm.Lane(ts[1], 0)
	e := endpointTo(t, ts[1], 0)
	const n = 10
	for i := range uint64(n) {
		if i == n-2 {
			shm.AskBack(ts[0], ring)
		}
		require.NoError(t, e.Send(transport.Header{A: i}, nil))
	}
	require.Equal(t, -1, shm.Lane(ts[1], 0))
	l := &log{}
	for range 2 * n {
		_, err := ts[0].Poll(l, 2)
		require.NoError(t, err)
	}
	require.Empty(t, l.downs)
	require.Len(t, l.arrivals, n)
	for i, a := range l.arrivals {
		require.EqualValues(t, i, a.header.A)
	}
}

// If a rank takes a ring and cannot announce it because the inbox is full, it frees the ring.
func TestRingWithoutAnnouncement(t *testing.T) {
	ts := local(t, 4, false)
	for range 8 { // each message takes 126 of the 1024 slots
		require.NoError(t, endpointTo(t, ts[1], 0).Send(transport.Header{}, make([]byte, 8000)))
	}
	for _, from := range []int{1, 3} {
		for range shm.RingAfter - 9 {
			require.NoError(t, endpointTo(t, ts[from], 0).Send(transport.Header{}, nil))
		}
	}
	for endpointTo(t, ts[3], 0).Send(transport.Header{}, nil) == nil {
		continue
	}
	for range 2 * shm.RingAfter {
		require.ErrorIs(t, endpointTo(t, ts[2], 0).Send(transport.Header{}, nil), transport.ErrAgain)
	}
	require.Equal(t, -1, shm.Lane(ts[2], 0))
	for ring := range shm.RingsPerRank {
		require.Zero(t, shm.RingOwner(ts[0], ring))
	}
}

// The next writer can fill a returned ring completely before the reader reads any record. So the ring
// keeps no position of its previous use.
func TestRingThatWasGivenBackIsAsNew(t *testing.T) {
	for name, records := range map[string]int{"less than a lap": 3, "two laps": 2 * shm.RingLength(100) / 8192} {
		t.Run(name, func(t *testing.T) { testGivenBack(t, records) })
	}
}

// testGivenBack gives a ring back after a number of records of 8000 bytes, and fills it anew.
func testGivenBack(t *testing.T, records int) {
	t.Helper()
	ts := local(t, 3, false)
	l := &log{}
	for _, from := range []int{1, 2} {
		e := endpointTo(t, ts[from], 0)
		for shm.Lane(ts[from], 0) < 0 {
			require.NoError(t, sendAll(ts[from], l, e, transport.Header{}, nil))
			poll(t, ts[0], l, 1)
		}
		require.Zero(t, shm.Lane(ts[from], 0), "the same ring")
		poll(t, ts[0], l, 4)
		if from == 2 {
			break
		}
		for range records {
			require.NoError(t, sendAll(ts[from], l, e, transport.Header{}, make([]byte, 8000)))
			poll(t, ts[0], l, 1)
		}
		shm.AskBack(ts[0], 0)
		require.NoError(t, sendAll(ts[from], l, e, transport.Header{}, nil))
		poll(t, ts[0], l, 2)
		require.Zero(t, shm.RingOwner(ts[0], 0))
	}
	e, sent := endpointTo(t, ts[2], 0), 0
	for err := e.Send(transport.Header{}, nil); ; err = e.Send(transport.Header{}, nil) {
		if err != nil {
			require.ErrorIs(t, err, transport.ErrAgain)
			break
		}
		sent++
	}
	l.arrivals = nil
	poll(t, ts[0], l, sent)
	require.Len(t, l.arrivals, sent)
	require.Empty(t, l.downs)
}
