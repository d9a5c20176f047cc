package actors

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// TestToldNeverGoesBack checks that a late call of tell does not take back credit that was reported already.
// Such a call comes from a goroutine that did not run between its addition to returned and its report.
func TestToldNeverGoesBack(t *testing.T) {
	f := transporttest.NewFake(2, transporttest.FakeOptions{NoHandover: true})
	tr := f.Transport(0)
	e, err := engine.New(engine.Config{
		Size: 2, Sleeper: f.Sleeper(0), Transports: []transport.Transport{tr}, Route: func(int) transport.Transport { return tr },
		Wait: engine.WaitPolicy{Yield: 100 * time.Microsecond},
	})
	require.NoError(t, err)
	e.Start()
	defer func() {
		require.NoError(t, e.Close())
		require.NoError(t, tr.Close())
	}()
	in := &receiveStream{s: &System{engine: e}, source: -1} // Grant to no rank does nothing
	early := in.returned.Add(64 << 10)
	in.tell(in.returned.Add(128 << 10))
	require.EqualValues(t, 192<<10, in.told.Load())
	in.tell(early)
	require.EqualValues(t, 192<<10, in.told.Load())
	// The sender waits for a report of the last bytes.
	in.settle(192<<10 + 1)
	in.tell(in.returned.Add(1))
	require.EqualValues(t, 192<<10+1, in.told.Load())
}
