package rdma_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
)

// TestBurstsBeginTogether sends many short messages without a Poll. They arrive in
// order, also when the sender never polls again. In how many system calls depends on
// the clock, and is logged.
func TestBurstsBeginTogether(t *testing.T) {
	sender := iwarp.New(iwarp.Config{})
	places := append(loopback(sender, 1), loopback(iwarp.New(iwarp.Config{}), 1)...)
	ranks := newWorld(t, places, func(c *rdma.Config) { c.ReadsIn = 1 }).ranks(t)
	e := ranks[0].to(1)
	sent := uint64(0)
	next := func() error {
		n := int(sent) % 40
		err := e.Send(transport.Header{A: sent, B: uint64(n)}, numbered(sent, n))
		if err == nil {
			sent++
		}
		return err
	}
	for range 100 { // until the window is wide
		require.NoError(t, drive(t, ranks, "send", next))
	}
	before, first := sender.Counters().Writes.Load(), sent
	for range 100 {
		var err error
		for range 60 {
			if err = next(); err != nil {
				break // the window is full
			}
		}
		require.True(t, err == nil || errors.Is(err, transport.ErrAgain))
		// The sender does not poll until everything is there.
		pump(t, ranks[1:], "a burst", func() bool { return ranks[1].next[0] == sent })
		ranks[0].poll()
	}
	writes := sender.Counters().Writes.Load() - before
	t.Logf("%d messages, %d writes", sent-first, writes)
	closeAll(t, ranks)
}
