package shm_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// A rank whose message was refused may sleep after it has armed its doorbell: the reader of the
// full lane rings it. The contract of package transport does not demand this.
func TestRefusedSenderIsRungForRoom(t *testing.T) {
	const patience = 30 * time.Second
	for name, messages := range map[string]int{"inbox": 0, "ring": 1000} {
		t.Run(name, func(t *testing.T) {
			ts, node := mapped(t, 3, shm.Config{})
			for range shm.RingsPerRank {
				if name == "inbox" { // rank 2 takes the rings, so that the lane stays in the inbox
					shm.TakeRing(ts[2], 1)
				}
			}
			defer func() { require.NoError(t, node.Close()) }()
			var here, there counter
			to := endpointTo(t, ts[0], 1)
			for range messages { // a pair that exchanges messages gets a ring
				require.NoError(t, sendAll(ts[0], &here, to, transport.Header{}, nil))
				for done := false; !done; {
					n, err := ts[1].Poll(&there, 16)
					require.NoError(t, err)
					done = n == 0
				}
				_, err := ts[0].Poll(&here, 16)
				require.NoError(t, err)
			}
			payload := make([]byte, 1000)
			for refused := 0; refused < 3; {
				err := to.Send(transport.Header{}, payload)
				if errors.Is(err, transport.ErrAgain) {
					refused++
					_, err = ts[0].Poll(&here, 16)
				}
				require.NoError(t, err)
			}
			require.Equal(t, name == "ring", shm.Lane(ts[0], 1) >= 0)
			ticket := ts[0].Sleeper().Prepare()
			require.True(t, ts[0].Arm(), "nothing has arrived, and there is no room")
			read := make(chan error)
			go func() {
				for {
					if n, err := ts[1].Poll(&there, 64); n == 0 || err != nil {
						read <- err
						return
					}
				}
			}()
			began := time.Now()
			ts[0].Sleeper().Sleep(ticket, int64(patience))
			require.Less(t, time.Since(began), patience, "slept until the end: no ring arrived")
			ts[0].Disarm()
			require.NoError(t, <-read)
			require.NoError(t, to.Send(transport.Header{}, payload))
			for _, tr := range ts {
				require.NoError(t, tr.Close())
			}
		})
	}
}
