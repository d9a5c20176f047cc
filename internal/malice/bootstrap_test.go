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

// The job has two nodes. Ranks 0 and 1 are on the node of the server, ranks 2 and 3 connect to a
// relay.
const (
	jobRanks = 4
	perNode  = 2
)

// Kinds of frames that a rank sends to its agent (bootstrap.Server).
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

// frameOf returns a frame of a rank.
func frameOf(kind byte, body ...byte) []byte {
	f := binary.LittleEndian.AppendUint32(nil, uint32(1+len(body)))
	return append(append(f, kind), body...)
}

// cardOf returns the card of a rank, with data that no other rank's card has.
func cardOf(rank int) bootstrap.Card {
	return bootstrap.Card{Rank: rank, PID: 10 + rank, Slot: rank % perNode, Node: bootstrap.NodeID{byte(rank / perNode)}, Host: "h", Data: fmt.Append(nil, "card of ", rank)}
}

// said returns the frames of a rank that sends each kind of frame at least once.
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

// voteOf returns the frame with the vote of a rank in a round of a communicator with another rank. Its fields
// are those of bootstrap.Vote: communicator, round, members, one ballot with voter, purpose and flags, and an
// empty list of acknowledged ranks. A list of ranks begins with its form. Form 1 is a set of bits: the number
// of bytes and the bytes follow. Form 0 is a list of runs: the number of runs follows.
func voteOf(rank, other int, round uint32) []byte {
	body := binary.LittleEndian.AppendUint64(nil, 9)
	body = binary.LittleEndian.AppendUint32(body, round)
	body = append(body, 1, 1, 1<<other|1<<rank, 1, 1, 1, 1<<rank, 1)
	body = binary.LittleEndian.AppendUint64(body, 7)
	return frameOf(frameVote, append(body, 0, 0)...)
}

// rewrite changes frames as a script says. In this script, the field number of a move counts frames instead of
// FPDUs.
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

// agents serve the ranks of a job: a server on the first node, and a relay on the second.
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

// tell is a writer whose frames go to a relay.
type tell func(p []byte) error

func (f tell) Write(p []byte) (int, error) { return len(p), f(p) }

// serve serves a rank until its connection ends, and then reports the end of the rank.
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

// member runs a rank that keeps to the protocol.
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

// bootstrapWith runs a job with a malicious rank, whose frames a script changes.
func bootstrapWith(t *testing.T, malicious int, script []byte) {
	t.Helper()
	if err := bootstrapBeside(t, malicious, rewrite(said(t, malicious), script)); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		require.ErrorIs(t, err, bootstrap.ErrMalformed)
	}
}

// bootstrapBeside runs a job with a malicious rank that sends a stream. It returns the error with
// which the agent of this rank ended the connection.
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
			go func() { _, _ = io.Copy(io.Discard, theirs) }() // ends when the connection ends
			_, _ = theirs.Write(stream)                        // the agent may refuse the rest
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

// bootstrapScripts returns scripts of one move each: every kind of move, in all frames.
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

// TestMaliciousBootstrap checks that the other ranks work whatever a rank sends to its agent. The malicious
// rank is on the node of the launcher or on another node. The other ranks must get each other's cards, meet in
// their fences and end in order.
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

// TestManyVotes lets a rank vote in agreements that do not end. The server must refuse the rank, whether a relay
// gathers the votes or forwards each of them. The other ranks must end in order.
func TestManyVotes(t *testing.T) {
	for _, c := range []struct{ rank, other int }{{1, 0}, {3, 2}, {3, 0}} {
		frames := said(t, c.rank)[:1]
		for round := range uint32(1 << 13) {
			frames = append(frames, voteOf(c.rank, c.other, round))
		}
		require.ErrorIs(t, bootstrapBeside(t, c.rank, slices.Concat(frames...)), bootstrap.ErrMalformed, "ranks %d and %d", c.rank, c.other)
	}
}

// FuzzMaliciousBootstrap lets the fuzzer choose the moves.
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
