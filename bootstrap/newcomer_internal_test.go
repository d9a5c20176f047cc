//go:build !portable

package bootstrap

import (
	"bufio"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// streams returns the two ends of a connection.
func streams(t *testing.T) (rank, rank0 *os.File) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	require.NoError(t, err)
	rank, rank0 = os.NewFile(uintptr(pair[0]), "rank"), os.NewFile(uintptr(pair[1]), "rank 0")
	t.Cleanup(func() { _, _ = rank.Close(), rank0.Close() })
	return rank, rank0
}

// If rank 0 sends a frame directly after the start of the job, the rank may read both at once. The session of
// the rank acts on that frame, too. Before the start, the rank waits without a deadline, because the deadline of
// rank 0 may be later than that of the rank.
func TestFrameThatFollowsTheStart(t *testing.T) {
	conn, rank0 := streams(t)
	require.NoError(t, conn.SetDeadline(time.Now().Add(-time.Second)))
	_, err := rank0.Write(appendFrame(appendFrame(nil, kindStart, nil), kindPeerDown, numbered(1, "killed")))
	require.NoError(t, err)
	n := &newcomer{conn: conn}
	require.NoError(t, n.attend())
	s := newSession(Job{Size: 2, LocalSize: 2, Nodes: 1}, buffered{n.in, n.conn}, nil, NewSecret())
	go s.listen()
	require.NoError(t, rank0.Close())
	require.Equal(t, Notice{Kind: PeerDown, Rank: 1, Cause: "killed"}, <-s.Notices())
	require.Equal(t, AgentLost, (<-s.Notices()).Kind)
}

// A rank reaches rank 0 although other addresses of rank 0 do not answer, as if they were in a network that drops
// packets. That holds also if rank 0 was started much later.
func TestAddressesThatDoNotAnswer(t *testing.T) {
	until := time.Now().Add(9 * time.Second) // not enough to wait for proofTimeout at each address
	silent, err := listen(Address{IP: netip.MustParseAddr("127.0.0.1").As16()})
	require.NoError(t, err)
	defer func() { require.NoError(t, silent.file.Close()) }()
	door, err := OpenDoor(0, NewSecret(), 2)
	require.NoError(t, err)
	come, served := make(chan *os.File, 1), make(chan error, 1)
	go func() { served <- door.Serve(func(_ int, conn *os.File) { come <- conn }) }()
	at := Address{IP: netip.MustParseAddr("127.0.0.1").As16(), Port: silent.port}
	p := point{secret: door.secret, addresses: []Address{at, at, {IP: at.IP, Port: door.l.port}}}
	early := 6 // number of attempts before rank 0 has published its addresses
	conn, _, err := reach(1, until, func() (point, error) {
		if early--; early >= 0 {
			return point{}, os.ErrNotExist
		}
		return p, nil
	})
	require.NoError(t, err)
	require.NoError(t, (<-come).Close())
	require.NoError(t, conn.Close())
	require.NoError(t, door.Close())
	require.Error(t, <-served)
}

// A rank that ends with an error prints the error itself if it has no agent, even if another rank has caused the error.
// The other rank may continue.
func TestErrorOfARankWithoutAnAgent(t *testing.T) {
	conn, _ := streams(t)
	s := newSession(Job{Size: 2, LocalSize: 2, Nodes: 1}, conn, nil, NewSecret())
	s.away = &abroad{}
	require.ErrorIs(t, s.Fail(1, -1, "rank 1 has broken the communicator"), errNoAgent)
	require.ErrorIs(t, s.Fail(0, -1, "my own"), errNoAgent)
}

// If a rank ends before it has read all frames, the other ranks get the same reason for the loss as for any other
// rank that ends.
func TestRankThatEndsWithUnreadFrames(t *testing.T) {
	conn, rank0 := streams(t)
	rest, other := streams(t)
	g := &meeting{onFailure: OnFailureContinue, ranks: []*visitor{{in: bufio.NewReader(other), conn: other}, {in: bufio.NewReader(rank0), conn: rank0}}}
	g.start()
	require.NoError(t, conn.Close())
	h := newHost(g)
	in := bufio.NewReader(rest)
	k, _, err := readFrame(in, rankFrameMax)
	require.NoError(t, err)
	require.Equal(t, kindStart, k)
	s := newSession(Job{Size: 2, LocalSize: 2, Nodes: 1}, buffered{in, rest}, nil, NewSecret())
	go s.listen()
	require.Equal(t, Notice{Kind: PeerDown, Rank: 1, Cause: "its process ended without leaving the job"}, <-s.Notices())
	require.NoError(t, s.Finalize())
	h.left.Wait()
}

// If a rank does not call the barrier of the launcher in time, the errors of the other ranks name the setting of
// that time.
func TestRankThatMissesTheBarrier(t *testing.T) {
	a, asked := launcherOf(t, "")
	require.NoError(t, a.stream.SetDeadline(time.Now().Add(-time.Second)))
	s := &store{client: a.launcher}
	_, _, err := reach(1, time.Now().Add(time.Minute), s.find)
	require.ErrorContains(t, err, "not all ranks have come to the launcher's barrier in time ("+EnvAnswer+")")
	require.ErrorContains(t, s.publish(point{}), EnvAnswer)
	require.NoError(t, a.stream.Close())
	require.Empty(t, <-asked)
}

// If a rank is lost at the start of the job, the ranks that have begun learn the reason of the loss.
func TestRankThatIsLostAtTheStart(t *testing.T) {
	ours, rank0 := streams(t)
	theirs, lost := streams(t)
	require.NoError(t, theirs.Close())
	all := []*visitor{{in: bufio.NewReader(rank0), conn: rank0}, {in: bufio.NewReader(lost), conn: lost}}
	g := &meeting{until: time.Now().Add(time.Minute), onFailure: OnFailureContinue, ranks: all}
	g.start()
	n := &newcomer{conn: ours}
	require.NoError(t, n.attend())
	_, err := all[0].expect(kindPresence)
	require.NoError(t, err)
	h := newHost(g)
	s := newSession(Job{Size: 2, LocalSize: 2, Nodes: 1}, buffered{n.in, n.conn}, nil, NewSecret())
	go s.listen()
	require.Equal(t, Notice{Kind: PeerDown, Rank: 1, Cause: "its process ended without leaving the job"}, <-s.Notices())
	require.NoError(t, s.Finalize())
	h.left.Wait()
}
