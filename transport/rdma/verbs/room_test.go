package verbs_test

import (
	"testing"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// TestRoom posts messages with room around them, and checks that no length in a request or completion
// includes the room.
func TestRoom(t *testing.T) {
	const room = stageHeadroom + stageTailroom
	p := newPlay(t, nil)
	p.connect(p.endpoint, p.actor, 1)
	readOnly, err := p.domain.Register(make([]byte, 64), 0)
	p.NoError(err)
	whole := []verbs.Segment{p.region.Segment(0, room+10)}
	for name, w := range map[string]verbs.WorkRequest{
		"no segment":   {Op: verbs.OpSend},
		"two segments": {Op: verbs.OpSend, Segments: append(whole, whole...)},
		"too short":    {Op: verbs.OpSend, Segments: []verbs.Segment{p.region.Segment(0, room-1)}},
		"inline":       {Op: verbs.OpSend, Flags: verbs.FlagInline, Segments: whole},
		"write":        {Op: verbs.OpWrite, Segments: whole},
		"read":         {Op: verbs.OpRead, Segments: whole},
	} {
		w.Flags |= verbs.FlagRoom
		p.ErrorIs(p.endpoint.Post(&w), verbs.ErrInvalidParameter, name)
	}
	for name, list := range map[string][]verbs.Segment{
		"no segment": nil, "two segments": append(whole, whole...), "too short": {p.region.Segment(0, room-1)},
	} {
		p.ErrorIs(p.endpoint.PostReceive(&verbs.ReceiveRequest{Flags: verbs.FlagRoom, Segments: list}), verbs.ErrInvalidParameter, name)
	}
	locked := []verbs.Segment{readOnly.Segment(0, room+10)}
	p.ErrorIs(p.endpoint.Post(&verbs.WorkRequest{Op: verbs.OpSend, Flags: verbs.FlagRoom, Segments: locked}), verbs.ErrPrivilegesViolation)

	p.NoError(p.endpoint.Post(&verbs.WorkRequest{ID: 1, Op: verbs.OpSend, Flags: verbs.FlagRoom, Segments: whole}))
	p.NoError(p.endpoint.PostReceive(&verbs.ReceiveRequest{ID: 2, Flags: verbs.FlagRoom, Segments: whole}))
	p.NoError(p.endpoint.PostReceive(&verbs.ReceiveRequest{ID: 3, Segments: whole}))
	p.within(func() {
		r := p.actor.Sends.Next()
		p.Equal(10, r.Length)
		p.Equal(whole, r.Segments)
		p.NotZero(r.Flags & verbs.FlagRoom)
		p.actor.Sends.Done(r)
		p.Same(p.actor.Receives.Peek(), p.actor.Receives.Peek())
		first := p.actor.Receives.Peek()
		m := p.actor.Receives.Next()
		p.Same(first, m)
		p.True(m.Room)
		p.Equal(10, m.Length)
		p.actor.Receives.Done(m, provider.Arrival{Length: 4})
		m = p.actor.Receives.Next()
		p.False(m.Room)
		p.Equal(room+10, m.Length)
		p.Nil(p.actor.Receives.Peek())
		p.actor.Receives.Done(m, provider.Arrival{Length: 5})
	})
	got := p.poll()
	p.Len(got, 3)
	p.Equal([]int{10, 4, 5}, []int{got[0].Length, got[1].Length, got[2].Length})
}
