package cost_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/localjob"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
)

// network has the transports of two ranks, and the Sleepers of their goroutines.
type network struct {
	transports [2]*rdma.Transport
	sleepers   [2]*transport.ChannelSleeper
}

func newNetwork(tb testing.TB, discard bool, carried func()) *network {
	tb.Helper()
	var rails [2][]rdma.Rail
	for i, h := range hosts(discard, carried) {
		rails[i] = []rdma.Rail{{Provider: h, Interface: h.Addr.String()}}
	}
	return networkOn(tb, rails)
}

func networkOn(tb testing.TB, rails [2][]rdma.Rail) *network {
	tb.Helper()
	w := &network{}
	for i := range rails {
		w.sleepers[i] = new(transport.ChannelSleeper)
		var err error
		w.transports[i], err = rdma.New(rdma.Config{
			Rank: i, Size: 2, Job: "cost", Secret: []byte("a secret of the tests"), Rails: rails[i], Sleeper: w.sleepers[i],
			Lookup: func(rank int) ([]rdma.Location, error) { return w.transports[rank].Locations(), nil },
		})
		require.NoError(tb, err)
	}
	return w
}

// Transport, Sleeper and Explain implement localjob.Network.
func (w *network) Transport(rank int) localjob.Transport { return w.transports[rank] }
func (w *network) Sleeper(rank int) transport.Sleeper    { return w.sleepers[rank] }
func (w *network) Explain(rank, peer int) string         { return fmt.Sprintf("%d to %d: null", rank, peer) }

// rank is a side of a dialogue (level_test.go) that uses package rdma as the engine does.
type rank struct {
	tb        testing.TB
	transport *rdma.Transport
	endpoint  transport.Endpoint
	payload   []byte
	// arrived and completed count the messages and completions that Poll has delivered and that
	// were not taken yet.
	arrived, completed int
}

// budget is the maximum number of messages that one Poll of the engine takes.
const budget = 64

func (r *rank) Arrive(_ int, _ transport.Header, payload []byte) {
	copy(r.payload, payload)
	r.arrived++
}

func (r *rank) Completed(_ int, _, _ uint64, err error) {
	if err != nil {
		r.tb.Error(err)
	}
	r.completed++
}

func (r *rank) Down(d *transport.PeerDown) { r.tb.Error(d) }

func (r *rank) poll() {
	if _, err := r.transport.Poll(r, budget); err != nil {
		r.tb.Fatal(err)
	}
}

// newRanks makes two connected ranks.
func newRanks(tb testing.TB, n int, discard bool, carried func()) [2]*rank {
	tb.Helper()
	return connected(tb, newNetwork(tb, discard, carried), n)
}

// ranksOn makes two connected ranks with these rails.
func ranksOn(tb testing.TB, rails [2][]rdma.Rail, n int) [2]*rank {
	tb.Helper()
	return connected(tb, networkOn(tb, rails), n)
}

// connected connects two ranks that send payloads of n bytes.
func connected(tb testing.TB, w *network, n int) [2]*rank {
	tb.Helper()
	var ranks [2]*rank
	for i, t := range w.transports {
		e, err := t.Endpoint(1 - i)
		require.NoError(tb, err)
		t.UseLock(func(func()) {}) // no timer sends waiting messages: the next Poll sends them
		ranks[i] = &rank{tb: tb, transport: t, endpoint: e, payload: make([]byte, n)}
	}
	tb.Cleanup(func() {
		closed := make(chan error)
		go func() { closed <- w.transports[0].Close() }()
		require.NoError(tb, w.transports[1].Close())
		require.NoError(tb, <-closed)
	})
	for ranks[0].endpoint.Send(transport.Header{}, nil) != nil {
		ranks[0].poll()
		ranks[1].poll()
	}
	ranks[1].await()
	return ranks
}

// await polls until a message has arrived.
func (r *rank) await() {
	for r.arrived == 0 {
		r.poll()
	}
	r.arrived--
}

func transportMessages(tb testing.TB, n int, carried func()) *dialogue {
	tb.Helper()
	d := &dialogue{}
	ranks := newRanks(tb, n, false, carried)
	for i, r := range ranks {
		d.flush[i] = r.poll
		d.send[i] = func() {
			for {
				err := r.endpoint.Send(transport.Header{A: 1}, r.payload)
				if err == nil {
					return
				}
				if !errors.Is(err, transport.ErrAgain) {
					tb.Fatal(err)
				}
				r.poll()
				ranks[1-i].poll()
			}
		}
		d.receive[i] = func() {
			for r.arrived == 0 {
				r.poll()
				if r.arrived == 0 {
					ranks[1-i].poll()
				}
			}
			r.arrived--
		}
	}
	return d
}

func transportReads(tb testing.TB, n, atOnce int) func() {
	tb.Helper()
	ranks := newRanks(tb, n, true, nil)
	of, r := ranks[1], ranks[0]
	key, err := of.transport.Expose(of.payload, transport.AccessRead)
	require.NoError(tb, err)
	return func() {
		for range atOnce {
			if err := r.endpoint.Get(r.payload, key, 1); err != nil {
				tb.Fatal(err)
			}
		}
		for r.completed < atOnce {
			r.poll()
		}
		r.completed = 0
	}
}
