package transporttest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// nothing is a handler that ignores everything.
type nothing struct{ arrivals int }

func (n *nothing) Arrive(int, transport.Header, []byte) { n.arrivals++ }
func (n *nothing) Completed(int, uint64, uint64, error) {}
func (n *nothing) Down(*transport.PeerDown)             {}
func endpoint(t *testing.T, f *transporttest.Fake, from, to int) transport.Endpoint {
	t.Helper()
	e, err := f.Transport(from).Endpoint(to)
	require.NoError(t, err)
	return e
}

func TestFakeDoesNotAllocateForMessages(t *testing.T) {
	f := transporttest.NewFake(2, transporttest.FakeOptions{})
	e, payload, h := endpoint(t, f, 0, 1), make([]byte, 64), &nothing{}
	allocs := testing.AllocsPerRun(100, func() {
		if e.Send(transport.Header{A: 1}, payload) != nil {
			t.Error("refused")
		}
		if n, err := f.Transport(1).Poll(h, 8); n != 1 || err != nil {
			t.Error("not delivered")
		}
	})
	require.Zero(t, allocs)
	require.Equal(t, 101, h.arrivals)
}
