package engine

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
)

// TestTheEndOfATransferSearchesNoQueue completes the last Get of a request. If all Gets of the request were issued, the
// request is not in the queue any more. A search for it would cost time for each request in the queue. To make a search
// visible, the test puts the request into the queue nevertheless. In the second case a Get is still to be issued. The
// request must then be removed from the queue.
func TestTheEndOfATransferSearchesNoQueue(t *testing.T) {
	over := errors.New("over")
	for name, c := range map[string]struct {
		issued int
		queued bool
	}{
		"all Gets are issued":       {200, true},
		"a Get is still to be made": {64, false},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := New(Config{Size: 2, Route: func(int) transport.Transport { return nil }})
			require.NoError(t, err)
			e.err = over // ends the request without a frame
			p := &peer{rank: 1, moving: 2}
			first, last := &Request{peer: p}, &Request{peer: p, phase: phaseMoving, move: transfer{total: 200, next: c.issued, flight: 1}}
			last.id = e.operations.add(last)
			p.reads.push(first)
			p.reads.push(last)
			e.moved(1, last.id, nil)
			require.Equal(t, phaseDone, last.phase)
			require.ErrorIs(t, last.err, over)
			require.Same(t, first, p.reads.head)
			require.Equal(t, c.queued, first.next == last)
		})
	}
}
