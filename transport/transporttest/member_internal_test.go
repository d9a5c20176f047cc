package transporttest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
)

// deaf is a network in which every Doze lasts until its timeout, although arrive makes a message arrive.
type deaf struct{ arrive func() }

func (d *deaf) Doze(nanos int64) bool {
	d.arrive()
	time.Sleep(time.Duration(nanos)) // the wake-up is lost
	return true
}

func (*deaf) Rouse() {}

// TestLostWakeUpOfADoze checks that wait reports a wake-up that is lost in the sleep of a NetworkSleeper.
func TestLostWakeUpOfADoze(t *testing.T) {
	r := newRig(t, func(testing.TB, int) *Fabric {
		f := NewFake(2, FakeOptions{})
		return &Fabric{
			Transports: []transport.Transport{f.Transport(0), f.Transport(1)},
			Sleepers:   []transport.Sleeper{f.Sleeper(0), f.Sleeper(1)},
			Arenas:     []transport.Arena{f.Arena(0), f.Arena(1)},
		}
	}, 2)
	r.patience = 200 * time.Millisecond
	r.connected(0, 1)
	s, m := new(transport.NetworkSleeper), r.ranks[1]
	s.Attend(&deaf{func() { require.NoError(t, r.ranks[0].send(1, transport.Header{}, nil)) }})
	m.sleeper = s
	require.ErrorContains(t, m.wait("a message", func() bool { return len(m.arrivals) > 0 }), "slept through an arrival")
}
