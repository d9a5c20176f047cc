package bootstrap_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// receiving returns the report of a rank of a world of six ranks. The rank waits at a line for a message from
// peer.
func receiving(rank int, what, line string, seconds float64, peer int) bootstrap.Doing {
	return bootstrap.Doing{
		Rank: rank, Size: 6, Process: 100 + rank,
		Waits: []bootstrap.Wait{{Op: "receive", What: what, Peer: peer, Seconds: seconds, Line: line, Function: "main.exchange"}},
	}
}

// Doing.String shows all waits, operations and notes of one rank, and ParseDoing returns the report
// that Encode has encoded.
func TestDoingOfOneRank(t *testing.T) {
	d := receiving(2, "rank 1, tag 7", "mesh.go:69", 1.5, 1)
	d.In, d.Notes = []string{"world, barrier, call 3, at main.go:7"}, []string{"not received: 8 bytes"}
	d.Waits = append(d.Waits, bootstrap.Wait{Op: "wait for a Future", Peer: -1, Line: "ask.go:3"}, bootstrap.Wait{Op: "tell", Peer: -1})
	require.Equal(t, `rank 2 of 6, process 102: waits in 3 operations
  in world, barrier, call 3, at main.go:7
  receive, rank 1, tag 7, 1.5s, at mesh.go:69 (main.exchange)
  wait for a Future, at ask.go:3
  tell
  not received: 8 bytes
`, d.String())
	require.Equal(t, d.String(), bootstrap.Together([]bootstrap.Doing{d}))
	require.Equal(t, "rank 0 of 1, process 5: waits for no message\n", bootstrap.Doing{Size: 1, Process: 5}.String())
	back, ok := bootstrap.ParseDoing(d.Encode())
	require.True(t, ok)
	require.Equal(t, d, back)
}

// Together shows ranks that wait in the same operation at the same line as one entry, with the texts that
// differ between the ranks. The entries are in the order of ranks. At the end, Together names the ranks that
// wait for a rank that has left its program.
func TestDoingsTogether(t *testing.T) {
	list := []bootstrap.Doing{
		receiving(5, "rank 0, tag 7", "mesh.go:69", 3, 0),
		receiving(3, "rank 1, tag 7", "mesh.go:69", 2, 1),
		{Rank: 1, Size: 6, Process: 101, Finished: true},
		receiving(2, "rank 1, tag 7", "mesh.go:69", 1, 1),
		receiving(0, "rank 1, tag 7", "mesh.go:70", 1, 1),
		receiving(4, "rank 1, tag 7", "mesh.go:69", 1, 1),
	}
	list[1].Notes, list[3].Notes = []string{"not received: 8 bytes"}, []string{"not received: 8 bytes", "rank 1: not connected"}
	require.Equal(t, `rank 0 of 6, process 100: waits in 1 operation
  receive, rank 1, tag 7, 1s, at mesh.go:70 (main.exchange)
rank 1 of 6, process 101: has finished, and waits for the others to do so
ranks 2-5 of 6: each waits in 1 operation
  receive, 1s to 3s, at mesh.go:69 (main.exchange)
    ranks 2-4: rank 1, tag 7
    rank 5: rank 0, tag 7
  ranks 2-3: not received: 8 bytes
  rank 2: rank 1: not connected
rank 1 has left its program, and ranks 0,2-4 wait for it
`, bootstrap.Together(list))
	require.Equal(t, 5, list[0].Rank, "Together does not reorder its argument")

	same := []bootstrap.Doing{receiving(0, "rank 1", "a.go:1", 1, 1), receiving(1, "rank 1", "a.go:1", 1.0001, 1)}
	for i := range same {
		same[i].In = []string{"world, barrier"}
	}
	require.Equal(t, "ranks 0-1 of 6: each waits in 1 operation\n  in world, barrier\n  receive, rank 1, 1s, at a.go:1 (main.exchange)\n", bootstrap.Together(same))
	same[0].Size, same[0].All, same[0].Waits = 2, true, nil
	require.Contains(t, bootstrap.Together([]bootstrap.Doing{same[0], {Rank: 1, Size: 2, Finished: true}}),
		"rank 1 has left its program, and rank 0 waits for it\n")
	same[0] = same[1]
	same[0].Rank = 0
	same[1].In = []string{"world, bcast"}
	require.Equal(t, same[0].String()+same[1].String(), bootstrap.Together(same))
	require.Empty(t, bootstrap.Together(nil))
}

// Encode shortens a report that is too long, so that ParseDoing accepts the text. Encode sets Stuck to 0 in
// this case, because the omitted waits might end. If a single wait is too long, ParseDoing
// refuses the text that Encode returns.
func TestLongDoing(t *testing.T) {
	d := bootstrap.Doing{Size: 1}
	for range 1000 {
		d.Notes = append(d.Notes, strings.Repeat("x", 100))
		d.Waits = append(d.Waits, bootstrap.Wait{Op: strings.Repeat("y", 100)})
	}
	d.Stuck = 1
	text := d.Encode()
	require.LessOrEqual(t, len(text), 64<<10)
	back, ok := bootstrap.ParseDoing(text)
	require.True(t, ok)
	require.NotEmpty(t, back.Waits)
	require.Zero(t, back.Stuck, "the other waits may end")
	many := bootstrap.Doing{Size: 1, Stuck: 1, Waits: []bootstrap.Wait{{Op: "receive"}}, Lanes: make([]bootstrap.Lane, 3000)}
	back, ok = bootstrap.ParseDoing(many.Encode())
	require.True(t, ok)
	require.Zero(t, back.Stuck)
	_, ok = bootstrap.ParseDoing(bootstrap.Doing{Size: 1, Waits: []bootstrap.Wait{{Op: strings.Repeat("y", 100<<10)}}}.Encode())
	require.False(t, ok)
}

// FuzzDoing checks that a report which ParseDoing accepts can be shown. If the report is not too long, it
// must also be the same after Encode and ParseDoing.
func FuzzDoing(f *testing.F) {
	for _, seed := range []string{"", "{}", "blocked in Recv", `{"rank":1,"size":1}`, receiving(2, "rank 1", "a.go:1", 1, 1).Encode()} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, ok := bootstrap.ParseDoing(text)
		if !ok {
			return
		}
		require.NotEmpty(t, bootstrap.Together([]bootstrap.Doing{d, d}))
		back, ok := bootstrap.ParseDoing(d.Encode())
		if len(text) < 10<<10 {
			require.True(t, ok)
			require.Equal(t, d.String(), back.String())
		}
	})
}

// If ranks wait in one operation with many different arguments, or have many different notes, Together shows
// the first arguments or notes and counts the rest.
func TestTogetherOfManyArguments(t *testing.T) {
	var list []bootstrap.Doing
	for rank := range 64 {
		list = append(list, bootstrap.Doing{
			Rank: rank, Size: 64, Waits: []bootstrap.Wait{{Op: "receive", What: fmt.Sprintf("rank %d", 63-rank), Line: "a.go:3"}}, Notes: []string{fmt.Sprintf("note %d", rank)},
		})
	}
	text := bootstrap.Together(list)
	require.Contains(t, text, "    rank 7: rank 56\n    ... and 56 more\n  rank 0: note 0\n")
	require.Contains(t, text, "  rank 15: note 15\n  ... and 48 more\n")
}

// Together shows ranks that wait in the same operations at the same lines as one entry, even if the
// number of messages that they wait for differs.
func TestTogetherOfManyMessages(t *testing.T) {
	wait := func(op, line string, rank int) bootstrap.Wait {
		return bootstrap.Wait{Op: op, What: fmt.Sprintf("rank %d", rank), Line: line, Seconds: float64(rank)}
	}
	text := bootstrap.Together([]bootstrap.Doing{
		{Rank: 0, Size: 4, Waits: []bootstrap.Wait{wait("receive", "a.go:3", 1), wait("send", "a.go:5", 2)}},
		{Rank: 1, Size: 4, Waits: []bootstrap.Wait{wait("receive", "a.go:3", 2), wait("receive", "a.go:3", 3), wait("send", "a.go:5", 2)}},
		{Rank: 2, Size: 4, Waits: []bootstrap.Wait{wait("receive", "a.go:4", 1), wait("send", "a.go:5", 2)}},
		{Rank: 3, Size: 4, Waits: []bootstrap.Wait{wait("receive", "a.go:3", 1), wait("send", "a.go:5", 2)}},
	})
	require.Equal(t, `ranks 0-1,3 of 4: each waits in 2 to 3 operations
  receive, 1s to 3s, at a.go:3
    ranks 0,3: rank 1
    rank 1: rank 2
    rank 1: rank 3
  send, rank 2, 2s, at a.go:5
rank 2 of 4, process 0: waits in 2 operations
  receive, rank 1, 1s, at a.go:4
  send, rank 2, 2s, at a.go:5
`, text)
}
