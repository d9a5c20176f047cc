package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
)

// TestUnmatchedSendsAreInTheOrderOfTheirFrames checks that Break cancels queued sends in the order of the
// queue, whatever ids they have. In another order, each cancellation would search the queue. Each send is
// in the list once.
func TestUnmatchedSendsAreInTheOrderOfTheirFrames(t *testing.T) {
	e, err := New(Config{Size: 2, Route: func(int) transport.Transport { return nil }})
	require.NoError(t, err)
	p := &peer{rank: 1}
	e.peers[1] = p
	send := func(context uint32, ph phase) *Request {
		return &Request{peer: p, phase: ph, target: key{context: context, source: 1}}
	}
	announced, queued, other := send(7, phaseAnnounced), make([]*Request, 4), send(8, phaseQueued)
	for i := range queued {
		queued[i] = send(7, phaseQueued)
	}
	for _, r := range []*Request{queued[3], announced, other, queued[1], queued[0]} { // queued[2] has no id
		r.id = e.operations.add(r)
	}
	for _, r := range []*Request{queued[0], other, nil, queued[1], queued[2], queued[3]} {
		f := e.newFrame(transport.Header{})
		f.req = r
		e.keep(p, f)
	}
	found := e.unmatched(7)
	require.Len(t, found, 5)
	for i, want := range append(queued, announced) {
		require.Same(t, want, found[i], "%d", i)
	}
}
