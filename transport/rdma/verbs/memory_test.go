package verbs_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

func TestClosedRegionIsForgotten(t *testing.T) {
	p := newPlay(t, nil)
	m, err := p.domain.Register(make([]byte, 64), 0)
	p.NoError(err)
	p.connect(p.endpoint, p.actor, 1)
	w := verbs.WorkRequest{Op: verbs.OpSend, Segments: []verbs.Segment{m.Segment(0, 8)}}
	p.NoError(p.endpoint.Post(&w))
	p.NoError(m.Close())
	p.ErrorIs(p.endpoint.Post(&w), verbs.ErrPrivilegesViolation)
	// The request that was posted before the region was closed still has its memory.
	p.within(func() {
		r := p.actor.Sends.Next()
		p.Equal(w.Segments, r.Segments)
		p.actor.Sends.Done(r)
	})
}

// TestSegmentBounds posts every range of bytes in and around a region. It checks that exactly the ranges
// within the region are accepted.
func TestSegmentBounds(t *testing.T) {
	p := newPlay(t, nil)
	p.connect(p.endpoint, p.actor, 1)
	const size, from, to = 12, 4, 9
	all := make([]byte, size)
	m, err := p.domain.Register(all[from:to], 0)
	p.NoError(err)
	p.actor.posted = func() { p.actor.Sends.Done(p.actor.Sends.Next()) }
	for i := range size {
		for j := i; j <= size; j++ {
			err := p.endpoint.Post(&verbs.WorkRequest{Op: verbs.OpSend, Segments: []verbs.Segment{{Data: all[i:j], LKey: m.LKey()}}})
			if i == j || i >= from && j <= to {
				p.NoError(err, "%d:%d", i, j)
			} else {
				p.ErrorIs(err, verbs.ErrProtectionViolation, "%d:%d", i, j)
			}
		}
	}
	p.Panics(func() { m.Segment(0, to-from+1) })
	p.Panics(func() { m.Remote(1, to-from) })
	require.Equal(t, 2, m.Remote(1, 2).Length)
}

// TestMemoryOfAnotherDomain checks that memory of another protection domain cannot be posted.
func TestMemoryOfAnotherDomain(t *testing.T) {
	p := newPlay(t, nil)
	p.connect(p.endpoint, p.actor, 1)
	other, err := p.adapter.NewProtectionDomain()
	p.NoError(err)
	m, err := other.Register(make([]byte, 64), verbs.AccessLocalWrite)
	p.NoError(err)
	segments := []verbs.Segment{m.Segment(0, 8)}
	for range 2 { // the second iteration finds the region in the cache
		p.ErrorIs(p.endpoint.Post(&verbs.WorkRequest{Op: verbs.OpSend, Segments: segments}), verbs.ErrProtectionViolation)
		p.ErrorIs(p.endpoint.PostReceive(&verbs.ReceiveRequest{Segments: segments}), verbs.ErrProtectionViolation)
	}
}

// TestRegistrationDoesNotHoldTheLock checks that the adapter makes progress while memory is being registered.
func TestRegistrationDoesNotHoldTheLock(t *testing.T) {
	p := newPlay(t, nil)
	went := false
	p.stage.registering = func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			p.adapter.Progress()
		}()
		select {
		case <-done:
			went = true
		case <-time.After(10 * time.Second):
		}
	}
	_, err := p.domain.Register(make([]byte, 8), 0)
	p.NoError(err)
	p.True(went)
}

// TestCloseWaitsForRegistrations closes an adapter during a registration. The test checks that the memory is
// deregistered before the device is closed, and that the protection domain counts as in use until then.
func TestCloseWaitsForRegistrations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(t, nil)
		release := make(chan struct{})
		p.stage.registering = func() { <-release }
		var all sync.WaitGroup
		all.Go(func() {
			m, err := p.domain.Register(make([]byte, 8), 0)
			p.NoError(err)
			p.ErrorIs(m.Close(), verbs.ErrInvalidHandle, "the adapter is closed")
		})
		synctest.Wait()
		p.ErrorIs(p.domain.Free(), verbs.ErrInvalidState)
		all.Go(func() { p.NoError(p.adapter.Close()) })
		synctest.Wait()
		p.Zero(p.stage.closed)
		_, err := p.domain.Register(make([]byte, 8), 0)
		p.ErrorIs(err, verbs.ErrInvalidHandle, "not while it closes")
		close(release)
		all.Wait()
		p.Equal(1, p.stage.closed)
		p.Equal(p.stage.registered.Load(), p.stage.deregistered.Load())
	})
}

// TestLengthOfReceives checks that a receive may be as long as the longest message of the adapter, and no longer. The
// room of FlagRoom does not count.
func TestLengthOfReceives(t *testing.T) {
	p := newPlay(t, nil)
	most := p.adapter.Attributes().MaxMessage
	const room = stageHeadroom + stageTailroom
	m, err := p.domain.Register(make([]byte, most+room+1), verbs.AccessLocalWrite)
	p.NoError(err)
	shared, err := p.adapter.NewSharedReceiveQueue(verbs.SharedReceiveConfig{Domain: p.domain, MaxReceives: 8, MaxSegments: 2})
	p.NoError(err)
	for _, post := range []func(*verbs.ReceiveRequest) error{p.endpoint.PostReceive, shared.PostReceive} {
		for n, want := range map[int]error{most: nil, most + 1: verbs.ErrInvalidParameter} {
			p.ErrorIs(post(&verbs.ReceiveRequest{Segments: []verbs.Segment{m.Segment(0, n)}}), want)
			p.ErrorIs(post(&verbs.ReceiveRequest{Segments: []verbs.Segment{m.Segment(0, 1), m.Segment(1, n-1)}}), want)
			p.ErrorIs(post(&verbs.ReceiveRequest{Flags: verbs.FlagRoom, Segments: []verbs.Segment{m.Segment(0, n+room)}}), want)
		}
	}
}
