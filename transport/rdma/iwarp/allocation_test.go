package iwarp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// TestSmallMessagesAllocateNothing checks that Sends, Writes and Reads of small messages allocate no heap memory
// on either side, from the post to the completion.
func TestSmallMessagesAllocateNothing(t *testing.T) {
	a, b := newSide(t, iwarp.Config{}, 1<<16), newSide(t, iwarp.Config{}, 1<<16)
	x, y := join(t, a, b)
	far := b.region.Remote(0, 8192)
	segments := []verbs.Segment{a.region.Segment(0, 64)}
	long := []verbs.Segment{a.region.Segment(0, 8192)}
	receive := verbs.ReceiveRequest{Segments: []verbs.Segment{b.region.Segment(1024, 8192)}}
	requests := []verbs.WorkRequest{
		{Op: verbs.OpSend, Segments: segments},
		{Op: verbs.OpSend, Flags: verbs.FlagInline | verbs.FlagSolicited, Segments: segments},
		{Op: verbs.OpWrite, Segments: segments, RemoteAddress: far.Address, RKey: far.RKey},
		{Op: verbs.OpRead, Segments: segments, RemoteAddress: far.Address, RKey: far.RKey},
		{Op: verbs.OpSend, Segments: long},
		{Op: verbs.OpWrite, Segments: long, RemoteAddress: far.Address, RKey: far.RKey},
		{Op: verbs.OpRead, Segments: long, RemoteAddress: far.Address, RKey: far.RKey},
	}
	sends := 0
	for i := range requests {
		if requests[i].Op == verbs.OpSend {
			sends++
		}
	}
	round := func() {
		for range sends {
			if y.PostReceive(&receive) != nil {
				t.Fatal("post receive")
			}
		}
		for i := range requests {
			if x.Post(&requests[i]) != nil {
				t.Fatal("post")
			}
		}
		for missing := len(requests) + sends; missing > 0; {
			missing -= a.queue.Poll(a.into[:]) + b.queue.Poll(b.into[:])
		}
	}
	round() // the first operations allocate the buffers
	require.Zero(t, testing.AllocsPerRun(200, round))
}

// TestIdlePollsAllocateNothing checks that a poll that finds nothing allocates no heap memory.
func TestIdlePollsAllocateNothing(t *testing.T) {
	a, b := newSide(t, iwarp.Config{}, 64), newSide(t, iwarp.Config{}, 64)
	a.listen()
	join(t, a, b)
	join(t, a, b)
	join(t, a, b)
	require.Zero(t, testing.AllocsPerRun(200, func() { a.queue.Poll(a.into[:]) }))
}
