package simulate

import (
	"container/heap"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
)

// outcomes is a handler that records the errors of operations.
type outcomes struct{ errs []error }

func (o *outcomes) Arrive(int, transport.Header, []byte)    {}
func (o *outcomes) Completed(_ int, _, _ uint64, err error) { o.errs = append(o.errs, err) }
func (o *outcomes) Down(*transport.PeerDown)                {}

// fireAll executes all events at once.
func (net *Network) fireAll() {
	net.mu.Lock()
	defer net.mu.Unlock()
	for len(net.agenda) > 0 {
		heap.Pop(&net.agenda).(*event).fire()
	}
}

// TestTransportEndsOnce checks that Close and Abandon fail after either of them, as those of transport/rdma do, and
// that the second call changes nothing. So the peers of a rank that has closed its transport see no loss.
func TestTransportEndsOnce(t *testing.T) {
	for _, first := range []func(*node) error{(*node).Close, (*node).Abandon} {
		for _, second := range []func(*node) error{(*node).Close, (*node).Abandon} {
			net := newNetwork(2, 1, Conditions{Lane: 1}, nil)
			d := net.generations[0].ranks[0]
			require.NoError(t, first(d))
			abandoned, events := d.abandoned, len(net.agenda)
			require.ErrorIs(t, second(d), transport.ErrClosed)
			require.Equal(t, abandoned, d.abandoned)
			require.Len(t, net.agenda, events)
		}
	}
}

// TestGetUnderWayAtTheEnd checks that a Get that is under way when its rank closes the transport does not write to
// the rank's memory. If the peer closes its transport, the Get must end with ErrClosed.
func TestGetUnderWayAtTheEnd(t *testing.T) {
	for _, alone := range []bool{true, false} {
		for rank := range 2 { // the rank that closes its transport
			net := newNetwork(2, 1, Conditions{MaxEager: 64, Get: true, MaxReads: 1, Lane: 1, Alone: alone}, nil)
			d, peer := net.generations[0].ranks[0], net.generations[0].ranks[1]
			key, err := peer.Expose([]byte{7}, transport.AccessRead)
			require.NoError(t, err)
			to, err := d.Endpoint(1)
			require.NoError(t, err)
			buffer := make([]byte, 1)
			require.NoError(t, to.Get(buffer, key, 0))
			require.NoError(t, net.generations[0].ranks[rank].Close())
			net.fireAll()
			if rank == 0 {
				_, err = peer.Poll(&outcomes{}, 1)
				require.NoError(t, err)
				net.fireAll()
			} else {
				var o outcomes
				_, err = d.Poll(&o, 1)
				require.NoError(t, err)
				require.Len(t, o.errs, 1)
				require.ErrorIs(t, o.errs[0], transport.ErrClosed)
			}
			require.Zero(t, buffer[0])
			require.Empty(t, net.faults)
		}
	}
}
