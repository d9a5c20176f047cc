package bootstrap_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// decision returns the next decision that a rank receives, and the ranks whose end was reported to this rank
// before the decision.
func decision(t *testing.T, s *bootstrap.Session) (d *bootstrap.Decision, ends []int) {
	t.Helper()
	hang := time.After(time.Minute)
	for {
		select {
		case n := <-s.Notices():
			switch n.Kind {
			case bootstrap.PeerDown:
				ends = append(ends, n.Rank)
			case bootstrap.Decided:
				return n.Decision, ends
			default:
			}
		case <-hang:
			t.Fatal("no decision came")
		}
	}
}

// The votes of ranks on several nodes lead to one decision, which is the same at every rank. Before the
// decision, each rank receives the notices of the ends that Decision.Epoch counts.
func TestAgreementOfNodes(t *testing.T) {
	const count, perNode = 3, 3
	n := newNodes(t, count, perNode)
	all := n.all()
	vote := func(round uint32, flags uint64) func(s *bootstrap.Session) error {
		return func(s *bootstrap.Session) error {
			return s.Vote(bootstrap.Vote{
				Comm: 9, Round: round, Purpose: bootstrap.PurposeFlags, Members: all,
				Flags: flags &^ (1 << s.Job().Rank),
			})
		}
	}
	for _, err := range n.each(all, vote(1, 1<<20-1)) {
		require.NoError(t, err)
	}
	for _, s := range n.sessions {
		d, ends := decision(t, s)
		require.Equal(t, uint64(1<<20-1)&^(1<<9-1), d.Flags)
		require.Empty(t, ends)
		require.Equal(t, -1, d.Lost)
	}
	// Rank 4 of the second node ends without a vote. Rank 1 of the same node has voted.
	living := []int{0, 1, 2, 3, 5, 6, 7, 8}
	for _, err := range n.each(living, vote(2, 1<<20-1)) {
		require.NoError(t, err)
	}
	n.relays[0].Gone(4)
	n.server.Gone(4, "killed")
	for _, rank := range living {
		d, ends := decision(t, n.sessions[rank])
		require.Equal(t, uint64(1<<20-1)&^(1<<9-1)|1<<4, d.Flags)
		require.Equal(t, []int{4}, ends)
		require.Equal(t, []int{4}, d.Dead)
		require.Equal(t, 4, d.Lost)
		require.EqualValues(t, 1, d.Epoch)
	}
}

// The vote of a rank counts if the rank ends, or leaves the job with Finalize, before the other members have
// voted. It counts on the server's node and on a node with a relay. Another rank of its node has voted before, and
// a third one votes later.
func TestVoteOfARankThatEnds(t *testing.T) {
	for name, end := range map[string]func(n *nodes, rank int){
		"Gone": func(n *nodes, rank int) {
			if rank == 1 {
				n.relays[0].Gone(1)
			}
			n.server.Gone(rank, "killed")
		},
		"Finalize": func(n *nodes, rank int) {
			require.NoError(t, n.sessions[rank].Finalize())
			n.next(t, bootstrap.EventFinalized)
		},
	} {
		for _, early := range []int{0, 1} { // ranks 0, 2 and 4 are on the server's node, ranks 1, 3 and 5 at the relay
			n := newNodes(t, 2, 3)
			vote := func(rank int) {
				require.NoError(t, n.sessions[rank].Vote(bootstrap.Vote{
					Comm: 9, Round: 1, Purpose: bootstrap.PurposeFlags, Members: n.all(), Flags: 1<<6 - 1 - 1<<rank,
				}))
				require.NoError(t, n.sessions[rank].Stalled("voted"))
				n.next(t, bootstrap.EventStalled) // handled after the vote, because both are frames of one rank
			}
			vote(early + 2)
			vote(early)
			end(n, early)
			living := slices.DeleteFunc(n.all(), func(rank int) bool { return rank == early })
			for _, rank := range living {
				if rank != early+2 {
					vote(rank)
				}
			}
			for _, rank := range living {
				d, _ := decision(t, n.sessions[rank])
				require.Zero(t, d.Flags, "%s of rank %d", name, early)
			}
		}
	}
}

// An agreement does not wait for a rank that has left the job with Finalize, and does not count
// that rank as dead.
func TestAgreementAfterAFinalize(t *testing.T) {
	n := newNodes(t, 2, 2)
	for _, rank := range []int{0, 1, 2} {
		require.NoError(t, n.sessions[rank].Vote(bootstrap.Vote{
			Comm: 9, Round: 1, Purpose: bootstrap.PurposeShrink, Members: n.all(),
		}))
	}
	require.NoError(t, n.sessions[3].Finalize())
	for _, rank := range []int{0, 1, 2} {
		d, _ := decision(t, n.sessions[rank])
		require.Empty(t, d.Dead)
		require.EqualValues(t, bootstrap.FirstShrunk, d.Number)
	}
}

// Every rank receives the notice of a revocation once. A second Revoke of the same communicator is not passed
// on.
func TestRevocationReachesAll(t *testing.T) {
	n := newNodes(t, 3, 2)
	r := bootstrap.Revocation{Comm: 3, Number: 4, Text: []byte("because")}
	require.NoError(t, n.sessions[4].Revoke(r))
	for _, s := range n.sessions {
		notice := <-s.Notices()
		require.Equal(t, bootstrap.Revoked, notice.Kind)
		r.Rank = 4
		require.Equal(t, &r, notice.Revocation)
	}
	require.NoError(t, n.sessions[0].Revoke(r)) // this call repeats the revocation
	require.NoError(t, n.sessions[0].Vote(bootstrap.Vote{Comm: 9, Round: 1, Purpose: bootstrap.PurposeFlags, Members: []int{0}}))
	decision(t, n.sessions[0]) // the decision proves that the server has processed the revocation and the vote
	n.server.Gone(0, "killed")
	for _, s := range n.sessions[1:] {
		require.Equal(t, bootstrap.PeerDown, (<-s.Notices()).Kind)
	}
}

// The server accepts votes from a link only for the ranks of that link's node.
func TestVotesOfAnotherNode(t *testing.T) {
	s := bootstrap.NewServer(3, func(bootstrap.Event) {})
	s.Link([]int{0, 1}, io.Discard)
	s.Link([]int{2}, io.Discard)
	require.NoError(t, s.Take(0, pollOf(1, 0, 0, 1, 2)))
	require.ErrorIs(t, s.Take(0, pollOf(2, 0, 0, 1, 2)), bootstrap.ErrMalformed)
	require.NoError(t, s.Take(2, pollOf(2, 0, 0, 1, 2)))
}

// If a rank has voted in too many agreements that do not end, the server refuses a further vote of the rank,
// also if a relay passes the vote on. If the server ignored the vote instead, an agreement would remain
// undecided.
func TestVotesThroughARelayWithoutEnd(t *testing.T) {
	s := bootstrap.NewServer(3, func(bootstrap.Event) {})
	s.Link([]int{0, 1, 2}, io.Discard)
	vote := func(rank int, round uint32) error {
		v := bootstrap.Vote{Comm: 1, Round: round, Purpose: bootstrap.PurposeFlags, Members: []int{0, 1, 2}}
		return s.Take(rank, bootstrap.PollFrame(rank, v))
	}
	last := uint32(0)
	for ; vote(0, last) == nil; last++ {
		require.Less(t, last, uint32(1<<13))
	}
	require.Greater(t, last, uint32(1<<10))
	require.NoError(t, vote(1, last))
	err := vote(0, last)
	require.ErrorIs(t, err, bootstrap.ErrMalformed, "an agreement that exists")
	require.ErrorContains(t, err, "rank 0 has voted in too many undecided agreements")
	require.NoError(t, vote(1, 0))
	require.NoError(t, vote(2, 0))
	require.NoError(t, vote(0, last), "an agreement has ended")
}

// pollOf returns the body of a frame that carries the vote of one rank.
func pollOf(rank int, flags uint64, members ...int) []byte {
	return bootstrap.PollFrame(rank, bootstrap.Vote{Comm: 1, Round: 1, Purpose: bootstrap.PurposeFlags, Flags: flags, Members: members})
}

// A vote that a node sent before it learned of the renewal does not count in an agreement of the
// new generation.
func TestVotesOfANodeBeforeItsRenewal(t *testing.T) {
	s := bootstrap.NewServer(2, func(bootstrap.Event) {})
	from, to := net.Pipe()
	defer func() { require.NoError(t, errors.Join(from.Close(), to.Close())) }()
	link := s.Link([]int{0, 1}, to)
	begun, err := s.Renew(bootstrap.Next{Lost: []int{1}, Links: map[*bootstrap.Link][]int{link: {0, 1}}})
	require.NoError(t, err)
	require.True(t, begun)
	const old, present = 0x1122334455667788, 0x7766554433221100
	require.NoError(t, s.Take(0, pollOf(0, old, 0)))
	require.NoError(t, s.Take(0, []byte{bootstrap.KindRejoin, 1, 0, 0, 0}))
	require.NoError(t, s.Take(0, pollOf(0, present, 0)))
	var told []byte
	for !bytes.Contains(told, binary.LittleEndian.AppendUint64(nil, present)) {
		some := make([]byte, 512)
		n, err := from.Read(some)
		require.NoError(t, err)
		told = append(told, some[:n]...)
	}
	require.NotContains(t, string(told), string(binary.LittleEndian.AppendUint64(nil, old)))
}
