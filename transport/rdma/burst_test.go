package rdma_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
)

// TestBurstsBeginTogether sends bursts of short messages without a Poll. The test checks that the messages
// arrive in order although the sender does not poll until the whole burst has arrived. The number of write
// system calls depends on timing, so the test only logs this number.
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
		// The sender does not poll until all messages of the burst have arrived.
		pump(t, ranks[1:], "a burst", func() bool { return ranks[1].next[0] == sent })
		ranks[0].poll()
	}
	writes := sender.Counters().Writes.Load() - before
	t.Logf("%d messages, %d writes", sent-first, writes)
	closeAll(t, ranks)
}

// TestFramesInFlightFitTheSendQueue sends messages without a Poll until the transport takes no more. Only a Poll
// frees entries of the send queue. The test checks that the frames in flight reach the capacity of the send
// queue and never exceed it.
func TestFramesInFlightFitTheSendQueue(t *testing.T) {
	ranks := newWorld(t, memory(verbstest.StyleInfiniBand, 2), nil).ranks(t)
	e, sent := ranks[0].to(1), uint64(0)
	next := func() error {
		err := e.Send(transport.Header{A: sent}, nil)
		if err == nil {
			sent++
		}
		return err
	}
	pump(t, ranks, "a window as wide as the send queue", func() bool {
		err := next()
		for err == nil {
			err = next()
		}
		require.ErrorIs(t, err, transport.ErrAgain)
		inFlight, room := ranks[0].InFlight(1)
		require.LessOrEqual(t, inFlight, room)
		return inFlight == room
	})
	pump(t, ranks, "the messages", func() bool { return ranks[1].next[0] == sent })
	closeAll(t, ranks)
}

// TestTheFirstMessageToEachPeerBeginsAtOnce checks that a rank without UseLock writes a message before Send
// returns, even directly after a message to another peer. If Send held the message back, a kill of the process
// would lose the message. Holding it back would save no system call, because each peer has its own connection.
func TestTheFirstMessageToEachPeerBeginsAtOnce(t *testing.T) {
	sender := iwarp.New(iwarp.Config{})
	places := append(loopback(sender, 1), loopback(iwarp.New(iwarp.Config{}), 3)...)
	ranks := newWorld(t, places, nil).ranks(t)
	for n := range uint64(20) {
		for peer := 1; peer <= 3; peer++ {
			writes := sender.Counters().Writes.Load()
			err := ranks[0].to(peer).Send(transport.Header{A: n}, nil)
			for errors.Is(err, transport.ErrAgain) { // happens only before the connection is established
				require.Zero(t, n)
				writes = sender.Counters().Writes.Load()
				pump(t, ranks, "a connection", func() bool { err = ranks[0].to(peer).Send(transport.Header{A: n}, nil); return err == nil })
			}
			require.NoError(t, err)
			require.Greater(t, sender.Counters().Writes.Load(), writes, "message %d to rank %d", n, peer)
		}
		pump(t, ranks, "the messages", func() bool { return ranks[1].next[0]+ranks[2].next[0]+ranks[3].next[0] == 3*(n+1) })
		for range 1000 { // so that no held-back control frame is written later
			for _, r := range ranks {
				r.poll()
			}
		}
	}
	closeAll(t, ranks)
}
