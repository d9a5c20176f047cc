//go:build !portable

package bootstrap

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap/internal/pmi"
)

// encode encodes a meeting point in at most 1000 bytes. parsePoint returns the same point, and refuses
// malformed text.
func TestPoints(t *testing.T) {
	p := point{secret: NewSecret()}
	for range pointAddressesMax {
		p.addresses = append(p.addresses, Address{IP: netip.MustParseAddr("fd77::12").As16(), Port: 65535})
		text := p.encode()
		require.LessOrEqual(t, len(text), 1000, "Hydra cuts longer values")
		got, err := parsePoint(text)
		require.NoError(t, err)
		require.Equal(t, p, got)
		for n := range text {
			if cut, err := parsePoint(text[:n]); err == nil { // the text is still valid if it ends after an address
				require.Equal(t, p.addresses[:len(cut.addresses)], cut.addresses)
			}
		}
	}
	for _, text := range []string{"", "=", "AQ", "a b", p.encode() + "AAAA", p.encode() + "\n"} {
		_, err := parsePoint(text)
		require.ErrorIs(t, err, ErrMalformed)
	}
}

// about returns the presence of a process on a node. The process may use the given processors.
func about(node byte, processors ...int) presence {
	p := presence{node: NodeID{node}, host: string('a' + rune(node)), file: Witness{PID: 100 + int(node), FD: 5, Nonce: [16]byte{node}}}
	for _, n := range processors {
		p.processors[n/64] |= 1 << (n % 64)
	}
	return p
}

// assign gives each rank its local rank on its node, and gives the processors of a node to all ranks of the
// node. Places and presences are the same after encoding and decoding. A process that cannot see the other
// processes of its node becomes a node of its own.
func TestRanksGetTheirPlaces(t *testing.T) {
	all := []presence{about(2, 0), about(1, 0, 1), about(2, 70), about(2, 0), about(3)}
	require.Equal(t, [][]int{{0, 2, 3}, {1}, {4}}, company(all))
	jobs := assign(all, "id", OnFailureContinue)
	for rank, want := range []Job{
		{LocalRank: 0, LocalSize: 3, NodeRank: 0, Peers: []int{0, 2, 3}, Processors: 2, Host: "c"},
		{LocalRank: 0, LocalSize: 1, NodeRank: 1, Peers: []int{1}, Processors: 2, Host: "b"},
		{LocalRank: 1, LocalSize: 3, NodeRank: 0, Peers: []int{0, 2, 3}, Processors: 2, Host: "c"},
		{LocalRank: 2, LocalSize: 3, NodeRank: 0, Peers: []int{0, 2, 3}, Processors: 2, Host: "c"},
		{LocalRank: 0, LocalSize: 1, NodeRank: 2, Peers: []int{4}, Processors: 1, Host: "d"},
	} {
		want.Rank, want.Size, want.Nodes, want.ID, want.OnFailure, want.Node = rank, 5, 3, "id", OnFailureContinue, all[rank].node
		require.Equal(t, want, jobs[rank])
		want.NodeRange = 1 << 30
		got, err := parsePlace(place{job: want, memory: all[0].file}.encode())
		require.NoError(t, err)
		require.Equal(t, place{job: want, memory: all[0].file}, got)
		back, err := parsePresence(all[rank].encode())
		require.NoError(t, err)
		require.Equal(t, all[rank], back)
	}
	all[2].alone(2)
	all[3].alone(3)
	require.Equal(t, [][]int{{0}, {1}, {2}, {3}, {4}}, company(all), "who does not see the others is a node of its own")
}

// Rank 0 admits a rank that proves knowledge of the secret. It refuses a process with another secret, and a
// process with a rank that the world does not have.
func TestProof(t *testing.T) {
	right, wrong := NewSecret(), NewSecret()
	for name, tc := range map[string]struct {
		theirs, ours [32]byte
		rank         int
		want         error
	}{
		"a rank":             {right, right, 3, nil},
		"a stranger":         {wrong, right, 3, ErrUnproved},
		"a rank of no world": {right, right, 4, ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := net.Pipe()
			result := make(chan error, 1)
			go func() {
				result <- introduce(a, tc.theirs, tc.rank, [nonceBytes]byte{1})
				_ = a.Close()
			}()
			rank, err := examine(b, tc.ours, 4, [nonceBytes]byte{2})
			if err == nil {
				err = welcome(b)
			}
			_ = b.Close()
			if tc.want == nil {
				require.NoError(t, err)
				require.NoError(t, <-result)
				require.Equal(t, tc.rank, rank)
				return
			}
			theirs := <-result
			require.Error(t, theirs)
			require.Error(t, err)
			if errors.Is(tc.want, ErrMalformed) {
				require.ErrorIs(t, err, tc.want)
			} else { // the stranger notices first: rank 0 does not prove that it has the stranger's secret
				require.ErrorIs(t, theirs, tc.want)
			}
		})
	}
	// A process without the secret must not be able to send the proof of rank 0 back as the proof of a rank.
	// For this reason, the proofs differ by role and by rank.
	require.NotEqual(t, proof(right, '0', 1, []byte("a"), []byte("b")), proof(right, '1', 1, []byte("a"), []byte("b")))
	require.NotEqual(t, proof(right, '0', 1, []byte("a"), []byte("b")), proof(right, '0', 2, []byte("a"), []byte("b")))
}

// A proof that was recorded in an earlier handshake is refused, because it depends on the nonce
// that rank 0 chooses for each handshake.
func TestRecordedProofIsRefused(t *testing.T) {
	secret := NewSecret()
	record := append([]byte(joinMagic), 1, 0, 0, 0)
	record = append(record, make([]byte, nonceBytes)...)
	mac := proof(secret, '1', 1, make([]byte, nonceBytes), make([]byte, nonceBytes)) // with rank 0's earlier nonce
	a, b := net.Pipe()
	go func() {
		_, _ = a.Write(record)
		_, _ = a.Read(make([]byte, nonceBytes+macBytes))
		_, _ = a.Write(mac)
	}()
	_, err := examine(b, secret, 2, [nonceBytes]byte{7})
	require.ErrorIs(t, err, ErrUnproved)
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
}

// Strangers connect first, and send nothing or random bytes instead of a proof. They must not keep a rank out
// of the meeting.
func TestStrangersAtTheMeeting(t *testing.T) {
	until := time.Now().Add(20 * time.Second)
	l, err := listen(Address{IP: netip.MustParseAddr("127.0.0.1").As16()})
	require.NoError(t, err)
	at := Address{IP: netip.MustParseAddr("127.0.0.1").As16(), Port: l.port}
	for i := range 2 * strangersMax / 3 {
		conn, err := dial(at, until)
		require.NoError(t, err)
		defer func() { _ = conn.Close() }()
		_, err = conn.Write(bytes.Repeat([]byte{byte(i)}, i))
		require.NoError(t, err)
	}
	door := newDoor(l, NewSecret(), 2)
	g := &meeting{until: until, onFailure: OnFailureKill, id: "id", over: func() error { return nil }, ranks: make([]*visitor, 2)}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	require.NoError(t, err)
	result := make(chan error, 3)
	go func() { result <- g.gather(door, os.NewFile(uintptr(pair[1]), "rank")) }()
	own := os.NewFile(uintptr(pair[0]), "meeting")
	require.NoError(t, introduce(own, door.secret, 0, [nonceBytes]byte{}))
	_, err = Knock(at, 1, NewSecret(), until)
	require.ErrorIs(t, err, ErrUnproved, "rank 0 of another job")
	conn, _, err := reach(1, until, func() (point, error) { return point{secret: door.secret, addresses: []Address{at}}, nil })
	require.NoError(t, err)
	both := []*newcomer{{rank: 0, conn: own}, {rank: 1, conn: conn}}
	for _, n := range both {
		go func() { result <- n.attend() }()
	}
	for range 3 {
		require.NoError(t, <-result)
	}
	for rank, n := range both {
		require.Equal(t, []int{0, 1}, n.job.Peers)
		require.Equal(t, rank, n.job.LocalRank)
		require.NoError(t, n.memory.Close())
		require.NoError(t, n.conn.Close())
		require.NoError(t, g.ranks[rank].conn.Close())
	}
}

// If too many connections without a proof are open, the door closes the oldest of them to make room for the
// next connection.
func TestStrangersMakeRoom(t *testing.T) {
	until := time.Now().Add(20 * time.Second)
	door, err := OpenDoor(0, NewSecret(), 1)
	require.NoError(t, err)
	door.proof = time.Hour
	come := make(chan *os.File)
	served := make(chan error, 1)
	go func() { served <- door.Serve(func(_ int, conn *os.File) { come <- conn }) }()
	at := Address{IP: netip.MustParseAddr("127.0.0.1").As16(), Port: door.l.port}
	var strangers []*os.File
	for range strangersMax + 3 {
		conn, err := dial(at, until)
		require.NoError(t, err)
		require.NoError(t, conn.SetDeadline(until))
		strangers = append(strangers, conn)
		defer func() { _ = conn.Close() }()
	}
	for i := range 2 { // more connections than the ranks of the job and the limit for strangers allow
		_, err := strangers[i].Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
	}
	rank, err := Knock(at, 0, door.secret, until)
	require.NoError(t, err, "a process that proves that it knows the secret is admitted")
	require.NoError(t, errors.Join(rank.Close(), (<-come).Close()))
	_, err = strangers[2].Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, door.Close())
	require.Error(t, <-served)
	door.mu.Lock()
	waiting := slices.Clone(door.waiting)
	door.mu.Unlock()
	require.Len(t, waiting, strangersMax, "the others wait")
	for _, conn := range waiting {
		require.NoError(t, conn.Close())
	}
}

// A connection that the door has closed to make room is not admitted, even if its peer had sent its proof.
func TestProofOfAConnectionThatMadeRoom(t *testing.T) {
	door := newDoor(nil, NewSecret(), 1-strangersMax) // with room for one connection
	from, proved, err := os.Pipe()
	require.NoError(t, err)
	door.enter(proved)
	door.enter(from)
	door.leave(proved)
	require.ErrorIs(t, welcome(proved), os.ErrClosed)
	require.Equal(t, []*os.File{from}, door.waiting)
	require.NoError(t, from.Close())
}

// Rank 0 proves to its own server that it knows the secret. The deadline of the whole meeting applies to
// this proof, because rank 0 may first have to wait for the last rank in a barrier of the launcher.
func TestRank0ProvesItselfLate(t *testing.T) {
	until := time.Now().Add(20 * time.Second)
	l, err := listen(Address{IP: netip.MustParseAddr("127.0.0.1").As16()})
	require.NoError(t, err)
	// The timeout for the proof of a stranger is negative, so that it expires at once.
	door := newDoor(l, NewSecret(), 1)
	door.proof = -time.Second
	g := &meeting{until: until, onFailure: OnFailureKill, id: "id", over: func() error { return nil }, ranks: make([]*visitor, 1)}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	require.NoError(t, err)
	result := make(chan error, 1)
	go func() { result <- g.gather(door, os.NewFile(uintptr(pair[1]), "rank")) }()
	n := &newcomer{conn: os.NewFile(uintptr(pair[0]), "meeting")}
	require.NoError(t, introduce(n.conn, door.secret, 0, [nonceBytes]byte{}))
	require.NoError(t, n.attend())
	require.NoError(t, <-result)
	require.NoError(t, errors.Join(n.memory.Close(), n.conn.Close(), g.ranks[0].conn.Close()))
}

// launcherOf returns a rank whose launcher reads one request and sends one answer, and the channel
// that gets the request.
func launcherOf(t *testing.T, answer string) (*abroad, <-chan string) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	require.NoError(t, err)
	stream, theirs := os.NewFile(uintptr(pair[0]), "PMI"), os.NewFile(uintptr(pair[1]), "launcher")
	asked := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(theirs).ReadString('\n')
		_, _ = theirs.WriteString(answer)
		_ = theirs.Close()
		asked <- line
	}()
	t.Cleanup(func() { _ = stream.Close() })
	return &abroad{launcher: pmi.New(stream), stream: stream}, asked
}

// The deadline of the meeting does not apply to requests that a rank sends to its launcher later.
func TestTheLauncherIsAskedAfterTheMeeting(t *testing.T) {
	past := time.Now().Add(-time.Second)
	a, asked := launcherOf(t, "cmd=finalize_ack\n")
	require.NoError(t, a.stream.SetDeadline(past))
	require.NoError(t, a.finalize())
	require.Equal(t, "cmd=finalize\n", <-asked)

	a, asked = launcherOf(t, "")
	require.NoError(t, a.stream.SetDeadline(past))
	a.abort(1, 3, "test")
	require.Equal(t, "cmd=abort exitcode=3\n", <-asked)

	a, asked = launcherOf(t, "cmd=x\n")
	require.NoError(t, a.stream.SetDeadline(past))
	require.NoError(t, a.met())
	_, err := a.stream.WriteString("\n")
	require.NoError(t, err)
	require.Equal(t, "\n", <-asked)
	<-a.watched // a message that the launcher sends without a request does not end this process
}

// If the launcher refuses the barrier before the ranks have the meeting point, the rank returns the
// launcher's error and does not repeat the request.
func TestARankThatTheLauncherDoesNotAnswer(t *testing.T) {
	a, asked := launcherOf(t, "cmd=barrier_out rc=7 msg=no\n")
	_, _, err := reach(1, time.Now().Add(2*time.Second), (&store{client: a.launcher}).find)
	require.ErrorIs(t, err, errUnpublished)
	require.ErrorContains(t, err, "code 7: no")
	require.Equal(t, "cmd=barrier_in\n", <-asked)
}

// Finalize of rank 0 waits until the other ranks have left, because they need the server in rank 0 until
// then.
func TestRank0LeavesLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &abroad{ready: make(chan struct{}), host: &host{}}
		a.host.left.Add(1)
		close(a.ready)
		left := false
		go func() {
			require.NoError(t, a.finalize())
			left = true
		}()
		synctest.Wait()
		require.False(t, left)
		a.host.left.Done()
		synctest.Wait()
		require.True(t, left)
	})
}

// FuzzMeeting checks that no input makes a parser of the meeting's records panic, and that a parsed presence,
// place or point is the same after encoding and parsing.
func FuzzMeeting(f *testing.F) {
	f.Add(about(1, 3).encode())
	f.Add(place{job: assign([]presence{about(1), about(1)}, "id", OnFailureKill)[1], memory: about(1).file}.encode())
	f.Add([]byte(point{secret: [32]byte{1}, addresses: []Address{{Port: 1}}}.encode()))
	f.Add(append([]byte{0, 0, 0, 1, 0, 0, 0, 0}, about(1).file.append(nil)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := parsePresence(b); err == nil {
			require.Equal(t, b, p.encode())
		}
		if p, err := parsePlace(b); err == nil {
			again, err := parsePlace(p.encode())
			require.NoError(t, err)
			require.Equal(t, p, again)
		}
		if p, err := parsePoint(string(b)); err == nil {
			require.Equal(t, string(b), p.encode())
		}
		_, _, _ = parseMemory(b)
	})
}
