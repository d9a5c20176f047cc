package shm_test

import (
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// Away reports true for a rank that sleeps and false for a rank that runs.
func TestAway(t *testing.T) {
	ts, _ := mapped(t, 2, shm.Config{})
	peer := endpointTo(t, ts[1], 0).(transport.Scheduled)
	require.False(t, peer.Away())
	ts[0].Sleeper().Yield()
	require.False(t, peer.Away(), "it came back from its yield")
	woken := asleep(t, ts[0])
	for !peer.Away() {
		goruntime.Gosched()
	}
	ts[1].Ring(0)
	<-woken
	require.False(t, peer.Away())
}

// Away reports true for a rank while it yields its processor.
func TestAwayWhileItYields(t *testing.T) {
	ts, _ := mapped(t, 2, shm.Config{})
	peer := endpointTo(t, ts[1], 0).(transport.Scheduled)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				ts[0].Sleeper().Yield()
			}
		}
	}()
	for !peer.Away() {
		goruntime.Gosched()
	}
	close(stop)
	<-stopped
	require.False(t, peer.Away())
}
