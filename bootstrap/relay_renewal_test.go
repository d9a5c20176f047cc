package bootstrap_test

import (
	"io"
	"net"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// generation is the plan of a generation. It says which ranks are lost, and on which node each rank is.
type generation struct {
	number int
	lost   []int
	warm   bool // the processes of the lost ranks are spares, which were started in advance
	places [][]int
}

// next returns the generation as the argument of Server.Renew and Relay.Renew.
func (g *generation) next(size int) bootstrap.Next {
	return bootstrap.Next{
		Lost: g.lost, Generation: g.number, Cause: "was killed", Warm: func(int) bool { return g.warm },
		Describe: func(rank int) bootstrap.Job {
			for node, ranks := range g.places {
				if local := slices.Index(ranks, rank); local >= 0 {
					return bootstrap.Job{
						Rank: rank, Size: size, LocalRank: local, LocalSize: len(ranks), NodeRank: node, Nodes: len(g.places), Peers: ranks,
						ID: "test", Processors: 1, Generation: g.number, OnFailure: bootstrap.OnFailureRespawn,
					}
				}
			}
			panic("a rank without a place")
		},
	}
}

// renew ends the connections of the lost ranks and begins the generation g at the server and all relays.
// renew starts the lost ranks again on the nodes that g.places names, and waits until all ranks have entered
// g. The first node is the node of the server.
func (n *nodes) renew(t *testing.T, g *generation) {
	t.Helper()
	size := len(n.sessions)
	for _, rank := range g.lost {
		_ = n.agent[rank].Close()
		<-n.served[rank]
		for _, relay := range n.relays {
			relay.Gone(rank)
		}
	}
	next := g.next(size)
	next.Links, next.Plan = map[*bootstrap.Link][]int{}, []byte("plan")
	renewed := make(chan error, len(n.relays))
	for i, relay := range n.relays {
		next.Links[n.links[i]] = g.places[i+1]
		relay.OnRenewal(func(plan []byte) error {
			if string(plan) != "plan" {
				return io.ErrUnexpectedEOF
			}
			err := relay.Renew(g.next(size), g.places[i+1])
			renewed <- err
			return err
		})
	}
	begun, err := n.server.Renew(next)
	require.NoError(t, err)
	require.True(t, begun)
	for range n.relays {
		require.NoError(t, <-renewed)
	}
	for _, rank := range g.lost {
		mine, theirs := net.Pipe()
		n.agent[rank], n.sessions[rank] = mine, bootstrap.Attach(next.Describe(rank), theirs, nil, [32]byte{1})
		serve := n.server.Serve
		for i, relay := range n.relays {
			if slices.Contains(g.places[i+1], rank) {
				serve = relay.Serve
			}
		}
		go func() { n.served[rank] <- serve(rank, mine) }()
	}
	for rank, s := range n.sessions {
		if g.warm || !slices.Contains(g.lost, rank) {
			<-s.Renewed()
			for s.Renewal().Job.Generation != g.number {
				continue
			}
			require.Equal(t, g.lost, s.Renewal().Lost)
			require.NoError(t, s.Renew())
			require.Equal(t, next.Describe(rank), s.Job())
		}
	}
}

// A job goes on after the loss of a whole node, whose ranks start again on other nodes, and after two losses
// of a single rank. After the last loss, the new process of the rank is a spare.
func TestRenewalOfNodes(t *testing.T) {
	n := newNodes(t, 3, 2) // ranks 0 and 3, 1 and 4, 2 and 5
	whole := func() {
		t.Helper()
		n.exchange(t, n.all())
		for _, rank := range n.all() {
			require.NoError(t, n.sessions[rank].Vote(bootstrap.Vote{
				Generation: n.sessions[rank].Job().Generation, Comm: 5, Round: 1, Purpose: bootstrap.PurposeFlags, Flags: 3, Members: n.all(),
			}))
		}
		for _, s := range n.sessions {
			d, _ := decision(t, s)
			require.Equal(t, uint64(3), d.Flags)
		}
	}
	whole()
	require.NoError(t, n.sessions[4].Report(7, "of the first"))
	n.renew(t, &generation{number: 1, lost: []int{1, 4}, places: [][]int{{0, 3, 4}, {}, {1, 2, 5}}})
	whole()
	// A vote that a rank sends before it knows of the next generation counts in no agreement of
	// that generation.
	require.NoError(t, n.sessions[2].Vote(bootstrap.Vote{Generation: 1, Comm: 5, Round: 1, Purpose: bootstrap.PurposeFlags, Members: []int{1, 2, 5}}))
	n.renew(t, &generation{number: 2, lost: []int{1}, places: [][]int{{0, 3, 4}, {1}, {2, 5}}})
	whole()
	n.renew(t, &generation{number: 3, lost: []int{1}, warm: true, places: [][]int{{0, 3, 4}, {1}, {2, 5}}})
	whole()
	for _, err := range n.each(n.all(), func(s *bootstrap.Session) error { return s.Fence(t.Context()) }) {
		require.NoError(t, err)
	}
	require.False(t, n.server.Renewable(1))
}

// The server sends nothing to a relay before the first generation in which the relay's node has ranks. In
// that generation, the relay exchanges cards and fences like the other relays.
func TestALateRelay(t *testing.T) {
	n := newNodes(t, 3, 2) // ranks 0 and 3, 1 and 4, 2 and 5
	n.exchange(t, n.all())
	relay, told := bootstrap.NewRelay(6, nil, n.server.Take), make(chan error, 8)
	link := bootstrap.NewLink(writerFunc(func(p []byte) (int, error) {
		err := relay.Tell(slices.Clone(p))
		told <- err
		return len(p), err
	}))
	n.renew(t, &generation{number: 1, lost: []int{1, 4}, places: [][]int{{0, 3, 4}, {}, {1, 2, 5}}})
	n.exchange(t, n.all())
	require.Empty(t, told)
	n.relays[0], n.links[0] = relay, link
	n.renew(t, &generation{number: 2, lost: []int{4}, places: [][]int{{0, 3}, {4}, {1, 2, 5}}})
	n.exchange(t, n.all())
	require.NoError(t, <-told, "the generation")
	require.NoError(t, <-told, "the book")
	for _, err := range n.each(n.all(), func(s *bootstrap.Session) error { return s.Fence(t.Context()) }) {
		require.NoError(t, err)
	}
}

// If the memory of the next generation cannot be passed to a rank, no rank begins that generation, and the
// present generation goes on.
func TestRenewalWithoutMemory(t *testing.T) {
	w := newWorld(t, 3)
	w.exchange(t, w.all())
	closed, err := os.Open(os.DevNull)
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	begun, err := w.server.Renew(bootstrap.Next{Lost: []int{1}, Memory: closed, Describe: func(int) bootstrap.Job { return bootstrap.Job{} }})
	require.Error(t, err)
	require.False(t, begun)
	for rank, s := range w.sessions {
		require.Nil(t, s.Renewal(), rank)
	}
	for _, err := range w.each(w.all(), func(s *bootstrap.Session) error { return s.Fence(t.Context()) }) {
		require.NoError(t, err)
	}
}
