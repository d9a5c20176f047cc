package bootstrap_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// writerFunc makes an io.Writer of a function.
type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// nodes is a world of several nodes. The first is the server's own node. Each other node has a relay, which a
// link of its own connects to the server.
type nodes struct {
	*world
	relays []*bootstrap.Relay
	links  []*bootstrap.Link
	down   []chan []byte // by link, the writes to it
}

// newNodes makes a world of count nodes of perNode ranks each. Ranks are assigned to the nodes in turn. The
// server serves the ranks of the first node itself.
func newNodes(t *testing.T, count, perNode int) *nodes {
	t.Helper()
	size := count * perNode
	n := &nodes{world: &world{events: make(chan bootstrap.Event, 8*size)}}
	n.server = bootstrap.NewServer(size, func(e bootstrap.Event) { n.events <- e })
	serve := make([]func(rank int, conn io.ReadWriter) error, size)
	for node := range count {
		ranks := make([]int, perNode)
		for i := range ranks {
			ranks[i] = i*count + node
			serve[ranks[i]] = n.server.Serve
		}
		if node == 0 {
			continue
		}
		relay, down := bootstrap.NewRelay(size, ranks, n.server.Take), make(chan []byte, 64)
		n.relays, n.down = append(n.relays, relay), append(n.down, down)
		n.links = append(n.links, n.server.Link(ranks, writerFunc(func(p []byte) (int, error) {
			down <- slices.Clone(p)
			return len(p), relay.Tell(slices.Clone(p))
		})))
		for _, rank := range ranks {
			serve[rank] = relay.Serve
		}
	}
	for rank := range size {
		mine, theirs := net.Pipe()
		job := bootstrap.Job{
			Rank: rank, Size: size, LocalRank: rank / count, LocalSize: perNode, NodeRank: rank % count, Nodes: count,
			ID: "test", Host: string(rune('a' + rank%count)), Node: bootstrap.NodeID{byte(rank % count)}, Processors: 1,
		}
		n.sessions, n.agent = append(n.sessions, bootstrap.Attach(job, theirs, nil, [32]byte{1})), append(n.agent, mine)
		served := make(chan error, 1)
		n.served = append(n.served, served)
		go func() { served <- serve[rank](rank, mine) }()
	}
	n.cleanUp(t)
	return n
}

// Ranks on several nodes exchange cards, call Fence and leave. The book and the end of each fence pass each
// link once.
func TestSeveralNodesExchangeAndFence(t *testing.T) {
	for _, c := range []struct{ nodes, perNode int }{{2, 1}, {2, 3}, {5, 4}} {
		n := newNodes(t, c.nodes, c.perNode)
		n.exchange(t, n.all())
		for range 3 {
			for _, err := range n.each(n.all(), func(s *bootstrap.Session) error { return s.Fence(t.Context()) }) {
				require.NoError(t, err)
			}
		}
		for _, err := range n.each(n.all(), (*bootstrap.Session).Finalize) {
			require.NoError(t, err)
		}
		for rank, served := range n.served {
			require.NoError(t, <-served)
			require.Equal(t, bootstrap.RankFinalized, n.server.State(rank))
		}
		for _, down := range n.down {
			require.Len(t, down, 1+3, "the book and each fence go down a link once, whatever its ranks")
		}
	}
}

// The book of a job on several nodes has the host, slot and data of each rank's card.
func TestBookNamesTheHosts(t *testing.T) {
	n := newNodes(t, 2, 2)
	books := make([]*bootstrap.Book, 4)
	for _, err := range n.each(n.all(), func(s *bootstrap.Session) (err error) {
		c := s.Card()
		c.Data = []byte{byte(c.Rank)}
		books[c.Rank], err = s.Exchange(t.Context(), c)
		return err
	}) {
		require.NoError(t, err)
	}
	for _, b := range books {
		for rank := range 4 {
			c, ok := b.Card(rank)
			require.True(t, ok)
			require.Equal(t, []string{"a", "b"}[rank%2], c.Host)
			require.Equal(t, rank/2, c.Slot)
			require.Equal(t, []byte{byte(rank)}, c.Data)
		}
	}
}

// The end of a rank is reported once to each other rank of all nodes, and fences no longer wait for
// that rank.
func TestPeerDownCrossesNodes(t *testing.T) {
	n := newNodes(t, 3, 2)
	n.exchange(t, n.all())
	n.relays[0].Gone(1) // the first rank of the second node
	n.server.Gone(1, "was killed by SIGKILL")
	require.Len(t, n.server.Dump(1), 5)
	for _, rank := range []int{0, 2, 3, 4, 5} {
		require.Equal(t, bootstrap.Notice{Kind: bootstrap.PeerDown, Rank: 1, Cause: "was killed by SIGKILL"}, <-n.sessions[rank].Notices())
		require.Equal(t, bootstrap.Dump, (<-n.sessions[rank].Notices()).Kind)
	}
	for _, err := range n.each([]int{0, 2, 3, 4, 5}, func(s *bootstrap.Session) error { return s.Fence(t.Context()) }) {
		require.NoError(t, err)
	}
	require.Empty(t, n.sessions[1].Notices(), "nothing is said to a rank that is gone")
	require.ErrorContains(t, n.relays[0].Serve(1, nil), "not one of this node", "the relay no longer serves the rank")
}

// The reports and aborts of a rank on another node reach the server.
func TestReportAndAbortComeThroughTheLink(t *testing.T) {
	n := newNodes(t, 2, 1)
	n.exchange(t, n.all())
	require.NoError(t, n.sessions[1].Report(5, "blocked"))
	require.Equal(t, bootstrap.Event{Kind: bootstrap.EventReport, Rank: 1, Code: 5, Text: "blocked"}, n.next(t, bootstrap.EventReport))
	n.sessions[1].Abort(7, "enough")
	require.Equal(t, bootstrap.Event{Kind: bootstrap.EventAborted, Rank: 1, Code: 7, Text: "enough"}, n.next(t, bootstrap.EventAborted))
}

// Dump sends nothing to a node if no rank of the node has joined.
func TestDumpSkipsANodeWithoutJoinedRanks(t *testing.T) {
	n := newNodes(t, 2, 1)
	go func() { _, _ = n.sessions[0].Exchange(t.Context(), n.sessions[0].Card()) }()
	n.next(t, bootstrap.EventJoined)
	require.Len(t, n.server.Dump(1), 1)
	require.Equal(t, bootstrap.Dump, (<-n.sessions[0].Notices()).Kind)
	require.Empty(t, n.down[0])
}

// A rank that has not joined gets no request for a report. It still gets the notices of later ends.
func TestDumpSkipsRanksThatHaveNotJoined(t *testing.T) {
	w := newWorld(t, 2)
	go func() { _, _ = w.sessions[0].Exchange(t.Context(), w.sessions[0].Card()) }()
	w.next(t, bootstrap.EventJoined)
	require.Len(t, w.server.Dump(1), 1)
	require.Equal(t, bootstrap.Dump, (<-w.sessions[0].Notices()).Kind)
	w.server.Gone(0, "lost")
	require.Equal(t, bootstrap.PeerDown, (<-w.sessions[1].Notices()).Kind, "and not the dump")
}

// The server reports a loss to each node on which a rank still lives. It does not report the loss to a node
// whose ranks have all ended.
func TestLossesAreToldWhereRanksLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := bootstrap.NewServer(6, func(bootstrap.Event) {}) // ranks 0 and 1 are on the server's own node
		var told [2][]byte
		for i := range told {
			s.Link([]int{2 + 2*i, 3 + 2*i}, writerFunc(func(p []byte) (int, error) {
				told[i] = append(told[i], p...)
				return len(p), nil
			}))
		}
		gone := func(rank int, want ...string) {
			t.Helper()
			s.Gone(rank, fmt.Sprintf("<%d>", rank))
			synctest.Wait()
			for i := range told {
				require.Equal(t, want[i], strings.Join(regexp.MustCompile(`<\d>`).FindAllString(string(told[i]), -1), ""), "after the loss of rank %d", rank)
				told[i] = nil
			}
		}
		require.Empty(t, s.Dump(1))
		gone(2, "<2>", "<2>")
		gone(0, "<0>", "<0>")
		gone(3, "", "<3>")
		gone(4, "", "<4>")
		gone(1, "", "<1>")
		gone(5, "", "")
	})
}

// A relay passes up only whole frames. It returns an error if a connection ends within a frame, announces a
// frame that is too long, or belongs to a rank of another node.
func TestRelayPassesWholeFramesOnly(t *testing.T) {
	whole := append(frame(bootstrap.KindCard, encoded(t, richCard(3))), frame(bootstrap.KindFence, nil)...)
	for n := range len(whole) + 1 {
		got := []byte{}
		r := bootstrap.NewRelay(4, []int{3}, func(rank int, f []byte) error {
			require.Equal(t, 3, rank)
			got = append(got, frame(f[0], f[1:])...)
			return nil
		})
		err := r.Serve(3, recorded{bytesOf(whole[:n])})
		require.Equal(t, whole[:len(got)], got)
		if len(got) == n {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%d bytes", n)
		}
	}
	r := bootstrap.NewRelay(4, []int{3}, func(int, []byte) error { return errors.New("no way up") })
	require.ErrorContains(t, r.Serve(3, recorded{bytesOf(whole)}), "no way up")
	require.ErrorContains(t, r.Serve(4, recorded{bytesOf(whole)}), "not one of this node")
	require.ErrorIs(t, r.Serve(3, recorded{bytesOf([]byte{255, 255, 255, 255, 1})}), bootstrap.ErrMalformed)
}

// Server.Take returns ErrMalformed for frames that the rank may not send.
func TestServerJudgesWhatItTakes(t *testing.T) {
	s := bootstrap.NewServer(2, func(bootstrap.Event) {})
	for name, f := range map[string][]byte{
		"nothing":         {},
		"the agent's own": {bootstrap.KindBook},
		"too long":        make([]byte, 1<<20),
		"another's card":  append([]byte{bootstrap.KindCard}, encoded(t, plainCard(1))...),
	} {
		require.ErrorIs(t, s.Take(0, f), bootstrap.ErrMalformed, name)
	}
}

// FuzzRelay checks that a server treats the frames of a rank in the same way whether they come
// through a relay or directly.
func FuzzRelay(f *testing.F) {
	card := frame(bootstrap.KindCard, encoded(f, richCard(0)))
	for n := 0; n <= len(card); n += 5 {
		f.Add(card[:n])
	}
	f.Add(slices.Concat(card, frame(bootstrap.KindFence, nil), frame(bootstrap.KindReport, []byte{0, 0, 0, 0, 'x'}), frame(bootstrap.KindFinalize, nil)))
	f.Add(slices.Concat(frame(bootstrap.KindAbort, []byte{1, 0, 0, 0}), frame(99, nil)))
	f.Fuzz(func(t *testing.T, in []byte) {
		var heard [2][]bootstrap.Event
		var servers [2]*bootstrap.Server
		for i := range servers {
			servers[i] = bootstrap.NewServer(1, func(e bootstrap.Event) { heard[i] = append(heard[i], e) })
		}
		servers[1].Link([]int{0}, io.Discard)
		direct := servers[0].Serve(0, recorded{bytesOf(in)})
		relayed := bootstrap.NewRelay(1, []int{0}, servers[1].Take).Serve(0, recorded{bytesOf(in)})
		require.Equal(t, heard[0], heard[1])
		require.Equal(t, servers[0].State(0), servers[1].State(0))
		require.Equal(t, errors.Is(direct, bootstrap.ErrMalformed), errors.Is(relayed, bootstrap.ErrMalformed))
		require.Equal(t, direct == nil, relayed == nil)
	})
}
