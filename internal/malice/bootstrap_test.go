package malice_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// A job of two nodes: ranks 0 and 1 are on the one of the server, 2 and 3 behind a relay.
const (
	jobRanks = 4
	perNode  = 2
)

// Kinds of frames of a rank to its agent (bootstrap.Server).
const (
	frameCard     = 1
	frameFence    = 2
	frameAbort    = 3
	frameFinalize = 4
	frameReport   = 5
	frameFailed   = 6
	frameHandled  = 7
	frameCards    = 8
	frameStalled  = 9
	frameVote     = 10
	frameRevoke   = 11
)

// frameOf is a frame of a rank.
func frameOf(kind byte, body ...byte) []byte {
	f := binary.LittleEndian.AppendUint32(nil, uint32(1+len(body)))
	return append(append(f, kind), body...)
}

// cardOf is the card of a rank, with data that tells it from others.
func cardOf(rank int) bootstrap.Card {
	return bootstrap.Card{Rank: rank, PID: 10 + rank, Slot: rank % perNode, Node: bootstrap.NodeID{byte(rank / perNode)}, Host: "h", Data: fmt.Append(nil, "card of ", rank)}
}

// said are the frames of a rank that says everything once.
func said(tb testing.TB, rank int) [][]byte {
	tb.Helper()
	card, err := cardOf(rank).Append(nil)
	require.NoError(tb, err)
	return [][]byte{
		frameOf(frameCard, card...), frameOf(frameStalled, append(make([]byte, 4), "{}"...)...), frameOf(frameReport, 1, 0, 0, 0, 'x'),
		frameOf(frameFailed, 0, 0, 0, 0, 'x'), frameOf(frameHandled, 0, 0, 0, 0), voteOf(rank, 0, 1), frameOf(frameRevoke, make([]byte, 20)...), frameOf(frameFence), frameOf(frameFence), frameOf(frameFinalize),
		frameOf(frameAbort, 7, 0, 0, 0, 'x'), frameOf(frameCards, card...),
	}
}

// voteOf is the vote of a rank in a round of a communicator with another one, as bootstrap.Vote is sent:
// communicator, round, members, one ballot with its voter, purpose and flags, nobody acknowledged. A
// list of ranks is a form, 1 for bits, their bytes and they, or 0 for runs, of which there are none.
func voteOf(rank, other int, round uint32) []byte {
	body := binary.LittleEndian.AppendUint64(nil, 9)
	body = binary.LittleEndian.AppendUint32(body, round)
	body = append(body, 1, 1, 1<<other|1<<rank, 1, 1, 1, 1<<rank, 1)
	body = binary.LittleEndian.AppendUint64(body, 7)
	return frameOf(frameVote, append(body, 0, 0)...)
}

// rewrite changes frames as a script says, by their numbers. Moves of FPDUs are those of frames.
func rewrite(frames [][]byte, script []byte) (stream []byte) {
	moves, raw := parse(script)
	for i, f := range frames {
		list, goes := [][]byte{f}, true
		for _, m := range moves {
			if int(m.number)%len(frames) == i && goes {
				list, goes = m.change(f, frames[:i], raw)
			}
		}
		stream = append(stream, slices.Concat(list...)...)
		if !goes {
			break
		}
	}
	return stream
}

// agents serve the ranks of a job: a server, and a relay of the second node.
type agents struct {
	server *bootstrap.Server
	relay  *bootstrap.Relay
	mu     sync.Mutex // guards events
	events []bootstrap.Event
}

func newAgents() *agents {
	a := &agents{}
	a.server = bootstrap.NewServer(jobRanks, func(e bootstrap.Event) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.events = append(a.events, e)
	})
	a.relay = bootstrap.NewRelay(jobRanks, []int{perNode, perNode + 1}, a.server.Take)
	a.server.Link([]int{perNode, perNode + 1}, tell(func(p []byte) error { return a.relay.Tell(slices.Clone(p)) }))
	return a
}

// tell is a writer of frames to a relay.
type tell func(p []byte) error

func (f tell) Write(p []byte) (int, error) { return len(p), f(p) }

// serve serves a rank to the end of its connection, and then says that it has ended.
func (a *agents) serve(rank int, conn io.ReadWriter) error {
	if rank < perNode {
		err := a.server.Serve(rank, conn)
		a.server.Gone(rank, "ended")
		return err
	}
	err := a.relay.Serve(rank, conn)
	a.relay.Gone(rank)
	a.server.Gone(rank, "ended")
	return err
}

// member is the life of a rank that keeps to the protocol.
func member(ctx context.Context, rank, malicious int, conn io.ReadWriteCloser) error {
	s := bootstrap.Attach(bootstrap.Job{
		Rank: rank, Size: jobRanks, LocalRank: rank % perNode, LocalSize: perNode, NodeRank: rank / perNode, Nodes: jobRanks / perNode,
		ID: "test", Host: "h", Node: bootstrap.NodeID{byte(rank / perNode)}, Processors: 1,
	}, conn, nil, [32]byte{1})
	book, err := s.Exchange(ctx, cardOf(rank))
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	for other := range jobRanks {
		c, there := book.Card(other)
		if other == malicious {
			if there && c.Rank != malicious {
				err = errors.Join(err, fmt.Errorf("the malicious rank has the card of rank %d", c.Rank))
			}
			continue
		}
		if string(c.Data) != string(cardOf(other).Data) {
			err = errors.Join(err, fmt.Errorf("rank %d has the card %q", other, c.Data))
		}
	}
	for range 3 {
		err = errors.Join(err, s.Fence(ctx))
	}
	return errors.Join(err, s.Finalize())
}

// bootstrapWith runs a job with a malicious rank that says what a script makes of its frames.
func bootstrapWith(t *testing.T, malicious int, script []byte) {
	t.Helper()
	if err := bootstrapBeside(t, malicious, rewrite(said(t, malicious), script)); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		require.ErrorIs(t, err, bootstrap.ErrMalformed)
	}
}

// bootstrapBeside runs a job with a malicious rank that sends a stream, and returns what its agent
// says of it.
func bootstrapBeside(t *testing.T, malicious int, stream []byte) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	a := newAgents()
	var all sync.WaitGroup
	failed := make([]error, jobRanks)
	served := make([]error, jobRanks)
	for rank := range jobRanks {
		mine, theirs := net.Pipe()
		all.Go(func() {
			served[rank] = a.serve(rank, mine)
			_ = mine.Close()
		})
		if rank != malicious {
			all.Go(func() { failed[rank] = member(ctx, rank, malicious, theirs) })
			continue
		}
		all.Go(func() {
			go func() { _, _ = io.Copy(io.Discard, theirs) }() // ends with the connection
			_, _ = theirs.Write(stream)                        // it may be refused in the midst
			_ = theirs.Close()
		})
	}
	all.Wait()
	for rank := range jobRanks {
		if rank != malicious {
			require.NoError(t, failed[rank], "rank %d", rank)
			require.NoError(t, served[rank], "rank %d", rank)
		}
	}
	for _, e := range a.events {
		if e.Rank != malicious {
			require.Contains(t, []bootstrap.EventKind{bootstrap.EventJoined, bootstrap.EventFinalized}, e.Kind, "of rank %d", e.Rank)
		}
		require.True(t, e.Origin >= 0 && e.Origin < jobRanks, "%+v", e)
		if e.Kind == bootstrap.EventHandled {
			require.True(t, e.Code >= 0 && e.Code < jobRanks, "%+v", e)
		}
		require.LessOrEqual(t, len(e.Text), 64<<10)
	}
	return served[malicious]
}

// bootstrapScripts are one move each, of all kinds in all frames.
func bootstrapScripts() (list [][]byte) {
	for kind := range moveKinds {
		for number := range byte(12) {
			for _, offset := range []uint16{0, 2, 3, 4, 5, 9, 21, 37, 40} {
				m := move{kind, number, offset, byte(len(list)), byte(len(list) * 7), uint16(len(list))}
				list = append(list, append(m.append(nil), told...))
			}
		}
	}
	return list
}

// TestMaliciousBootstrap: whatever a rank says to its agent, on the node of gorun or behind another
// agent, the other ranks get the cards of each other, meet in their fences and end in order.
func TestMaliciousBootstrap(t *testing.T) {
	list := bootstrapScripts()
	step := 7
	if os.Getenv("GORUN_SOAK") == "1" {
		step = 1
	}
	for i := 0; i < len(list); i += step {
		for _, rank := range []int{1, 3} {
			bootstrapWith(t, rank, list[i])
		}
	}
}

// TestManyVotes: a rank that votes in agreements that do not end is refused where they are gathered, on
// the node of gorun and behind another agent, and not listened to where the agent has done its part.
// The others end in order.
func TestManyVotes(t *testing.T) {
	for _, c := range []struct {
		rank, other int
		refused     error
	}{{1, 0, bootstrap.ErrMalformed}, {3, 2, bootstrap.ErrMalformed}, {3, 0, nil}} {
		frames := said(t, c.rank)[:1]
		for round := range uint32(1 << 13) {
			frames = append(frames, voteOf(c.rank, c.other, round))
		}
		require.ErrorIs(t, bootstrapBeside(t, c.rank, slices.Concat(frames...)), c.refused, "ranks %d and %d", c.rank, c.other)
	}
}

// FuzzMaliciousBootstrap makes the moves up.
func FuzzMaliciousBootstrap(f *testing.F) {
	f.Add([]byte(nil), true)
	f.Add(move{kind: moveNumber, number: 9, offset: 5, value: 6}.append(nil), false)
	f.Fuzz(func(t *testing.T, script []byte, behind bool) {
		rank := 1
		if behind {
			rank = 3
		}
		bootstrapWith(t, rank, script)
	})
}
