package rdma_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
)

// TestSmallMessagesDoNotAllocate exchanges short messages between two ranks over TCP and checks that a round
// trip allocates no heap memory.
func TestSmallMessagesDoNotAllocate(t *testing.T) {
	ranks := newWorld(t, loopback(iwarp.New(iwarp.Config{}), 2), nil).ranks(t)
	count, payload := 0, make([]byte, 100)
	for _, r := range ranks {
		r.check = func(int, transport.Header, []byte) { count++ }
		r.order = make([]int, 0, 1<<20)
	}
	there, back := ranks[0].to(1), ranks[1].to(0)
	round := func() {
		was := count
		for there.Send(transport.Header{A: 1}, payload) != nil {
			ranks[0].poll()
			ranks[1].poll()
		}
		for count == was {
			ranks[1].poll()
			ranks[0].poll()
		}
		for back.Send(transport.Header{A: 2}, payload) != nil {
			ranks[1].poll()
			ranks[0].poll()
		}
		for count == was+1 {
			ranks[0].poll()
			ranks[1].poll()
		}
	}
	for range 200 {
		round() // until the connection is established and every buffer has been used once
	}
	require.Zero(t, testing.AllocsPerRun(1000, round))
	closeAll(t, ranks)
}
