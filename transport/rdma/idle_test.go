package rdma_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
)

// TestAnAnswerThatAcknowledgesLeavesNothingToDo has a peer send a marker, which asks for an acknowledgement, and a
// question in one frame. The test checks that the rank has nothing left to do when it has sent the answer, because the
// answer is also the acknowledgement. A rank with something to do polls its adapters in every Poll (see pace.go).
func TestAnAnswerThatAcknowledgesLeavesNothingToDo(t *testing.T) {
	for _, style := range []verbstest.Style{verbstest.StyleInfiniBand, verbstest.StyleIWARP} {
		r, u := loneAt(t, memory(style, 2), 2, impatient)
		c, n := credentials(1, 2), request(1)
		h := u.dial(r.Address(), c.AppendRequest(nil, &n, 0))
		require.Equal(t, verbs.EventEstablished, h.answer(r).Type)
		h.say(frame(word(0, 0, 8, 0), kindUpdate))
		u.settle(r, "an update", func() bool { return h.heard == 1 })
		marker := message(0, "")
		marker[4] = recordMarker
		h.say(frame(word(0, 0, 8, 1), kindEager, append(marker, question()...)...))
		u.settle(r, "the answer", func() bool { return h.heard == 2 })
		r.poll() // ends the work of the Poll that has sent the answer
		require.False(t, r.Busy())
	}
}

// nosy is a provider whose devices call the function asked at each Progress.
type nosy struct {
	verbs.Provider
	asked atomic.Pointer[func()]
}

type nosyDevice struct {
	provider.Device
	provider *nosy
}

// Open implements provider.Provider.
func (p *nosy) Open(name string, a provider.Adapter) (provider.Device, error) {
	d, err := p.Provider.Open(name, a)
	return &nosyDevice{d, p}, err
}

// Progress implements provider.Device.
func (d *nosyDevice) Progress() (int, error) {
	if f := d.provider.asked.Swap(nil); f != nil {
		(*f)()
	}
	return d.Device.Progress()
}

// countingSleeper counts the calls of Ring.
type countingSleeper struct {
	transport.ChannelSleeper
	rings atomic.Int32
}

// Ring implements transport.Sleeper.
func (s *countingSleeper) Ring() {
	s.rings.Add(1)
	s.ChannelSleeper.Ring()
}

// TestArmWhileACommandArrives marks a peer down while Arm asks the adapter for progress, as another goroutine could do.
// The test checks that the Sleeper is rung, and that the adapter is armed if and only if Arm returns true. The test
// finds out whether the adapter is armed by closing it: the end of an armed adapter rings the Sleeper.
func TestArmWhileACommandArrives(t *testing.T) {
	places := memory(verbstest.StyleInfiniBand, 1)
	p := &nosy{Provider: places[0].provider}
	places[0].provider = p
	s := new(countingSleeper)
	r := newWorld(t, places, func(c *rdma.Config) { c.Size, c.Sleeper = 2, s }).transports[0]
	mark := func() { r.MarkDown(1, nil) }
	p.asked.Store(&mark)
	armed := r.Arm()
	require.Nil(t, p.asked.Load())
	require.EqualValues(t, 1, s.rings.Load())
	require.NoError(t, r.Abandon())
	require.Equal(t, armed, s.rings.Load() == 2)
}
