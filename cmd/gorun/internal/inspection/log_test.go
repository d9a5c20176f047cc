package inspection_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/inspection"
	"github.com/gorun-hpc/gorun/internal/flight"
)

// The table of a log has messages and collective operations together, in the order of their times.
func TestTableOfALog(t *testing.T) {
	now := time.Unix(100, 0)
	l := inspection.Log{Rank: 2, Log: flight.Log{
		Time: now,
		Messages: []flight.Operation{
			{Op: "send", Message: true, Peer: 3, Tag: 7, Bytes: 8, State: flight.Done, Changed: now.Add(-3 * time.Second)},
			{
				Op: "receive", Message: true, Peer: -1, Tag: -1, Bytes: 64, State: flight.Waiting, Changed: now.Add(-time.Millisecond), Communicator: 4,
				Site: "a.go:5 (main.f)", Caller: "a.go:9 (main.main)",
			},
		},
		Operations: []flight.Operation{
			{Op: "bcast", Peer: 0, Tag: 1, Bytes: 4096, State: flight.Done, Changed: now.Add(-4 * time.Second)},
			{Op: "barrier", Peer: -1, Tag: 2, State: flight.Failed, Changed: now.Add(-2 * time.Second)},
		},
	}}
	require.Equal(t, `rank 2: 4 operations, the newest last
       ago  state     peer         tag      bytes      comm  operation            at
        4s  done      0         call 1       4096     world  bcast
        3s  done      3              7          8     world  send
        2s  failed    -         call 2          0     world  barrier
       1ms  waiting   any          any         64         4  receive              a.go:5 (main.f), called at a.go:9 (main.main)
`, l.Table())
}
