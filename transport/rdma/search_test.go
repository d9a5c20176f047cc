package rdma_test

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
)

// vacant returns an address of this host that refuses connections. Its port is bound, so that nobody else can
// listen there.
func vacant(t *testing.T) netip.AddrPort {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Close(fd) })
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	name, err := syscall.Getsockname(fd)
	require.NoError(t, err)
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(name.(*syscall.SockaddrInet4).Port))
}

// seeker returns a rank that wants to send to a peer at these addresses.
func seeker(t *testing.T, change func(c *rdma.Config), addresses ...netip.AddrPort) *rank {
	t.Helper()
	r, _ := loneAt(t, loopback(iwarp.New(iwarp.Config{}), 2), 2, func(c *rdma.Config) {
		c.Host = func(int) string { return "far" }
		c.Lookup = func(int) ([]rdma.Location, error) { return at(addresses...), nil }
		c.Absence = patience
		change(c)
	})
	require.ErrorIs(t, r.to(1).Send(transport.Header{}, nil), transport.ErrAgain)
	return r
}

// loss polls the rank until the rank reports its peer as down, and returns the reason.
func (r *rank) loss() *rdma.UnreachedError {
	r.Helper()
	pump(r.TB, []*rank{r}, "the loss", func() bool { return len(r.downs) == 1 })
	require.ErrorIs(r.TB, r.to(1).Send(transport.Header{}, nil), transport.ErrPeerDown)
	require.ErrorIs(r.TB, r.downs[0], syscall.ECONNREFUSED)
	var why *rdma.UnreachedError
	require.ErrorAs(r.TB, r.downs[0], &why)
	require.Equal(r.TB, "far", why.Host)
	require.Empty(r.TB, r.Search(1))
	return why
}

func owner(own ...netip.AddrPort) func(c *rdma.Config) {
	return func(c *rdma.Config) {
		c.Own = func(_ int, a netip.Addr) bool {
			for _, o := range own {
				if o.Addr() == a {
					return true
				}
			}
			return false
		}
	}
}

// TestPeerAtAnAddressOfThisHost gives the peer an address that this host has, too, so that this host refuses the
// connection. The test checks that the rank gives up the peer after one attempt, and that the error says so.
func TestPeerAtAnAddressOfThisHost(t *testing.T) {
	at := vacant(t)
	r := seeker(t, owner(at), at)
	why := r.loss()
	require.ErrorIs(t, why, peering.ErrAbsent)
	require.Len(t, why.Tries, 1)
	require.Equal(t, 1, why.Tries[0].Attempts, "once is enough")
	require.Regexp(t, `^no connection with host far within \S+: `+at.String()+
		` \(1 attempt\): connection refused; this host also has that address: gorun -net INTERFACE, ADDRESS or CIDR chooses `, why.Error())
	require.NoError(t, r.Close())
}

// TestPeerAtTheAddressOfThisRank gives the peer the address and port of the rank itself. The test checks that
// the rank does not connect to itself.
func TestPeerAtTheAddressOfThisRank(t *testing.T) {
	var r *rank
	r, _ = loneAt(t, loopback(iwarp.New(iwarp.Config{}), 2), 2, func(c *rdma.Config) {
		c.Lookup = func(int) ([]rdma.Location, error) { return r.Locations(), nil }
		c.Absence = patience
	})
	require.ErrorIs(t, r.to(1).Send(transport.Header{}, nil), transport.ErrAgain)
	pump(t, []*rank{r}, "the loss", func() bool { return len(r.downs) == 1 })
	require.ErrorContains(t, r.downs[0], "(1 attempt): this rank listens there itself; this host also has that address: ")
	require.NoError(t, r.Close())
}

// TestEveryAddressRefuses checks that a rank tries all addresses of its peer in turn when each refuses.
func TestEveryAddressRefuses(t *testing.T) {
	one, two := vacant(t), vacant(t)
	r := seeker(t, func(c *rdma.Config) { c.Absence, c.RetryMax = time.Millisecond, time.Millisecond }, one, two)
	why := r.loss()
	require.ErrorIs(t, why, peering.ErrAbsent)
	require.Len(t, why.Tries, 2)
	require.Equal(t, []netip.AddrPort{one, two}, []netip.AddrPort{why.Tries[0].Address, why.Tries[1].Address})
	require.InDelta(t, why.Tries[0].Attempts, why.Tries[1].Attempts, 1)
	require.ErrorContains(t, why, "nothing listens there, or a firewall rejects connections: gorun -net ")
	require.NoError(t, r.Close())
}

// TestOwnAddressIsLeftOut gives the peer an address that this host has, too, and another address where it
// listens. The test checks that the rank tries the first address once, and then only the second one.
func TestOwnAddressIsLeftOut(t *testing.T) {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	own, other := vacant(t), l.Addr().(*net.TCPAddr).AddrPort()
	p := &pair{t, seeker(t, owner(own), own, other), l}
	p.r.number = 0
	for range 3 {
		w, _ := p.dialled()
		require.Regexp(t, `^not connected: `+own.String()+` \(1 attempt\): connection refused, `+other.String()+` \(\d+ attempts?\): `, p.r.Search(1))
		require.NoError(t, w.conn.Close())
	}
	w, asked := p.dialled()
	w.write(reply(1, asked))
	w.until("the end of the search", func() bool { return p.r.Search(1) == "" })
	require.Empty(t, p.r.downs)
	require.NoError(t, p.r.Close())
}

// TestRankThatCannotSendARequest checks that the error does not blame the peer if this rank could send no request.
func TestRankThatCannotSendARequest(t *testing.T) {
	local := rdma.Try{Address: vacant(t), Attempts: 2, Err: &verbs.OpError{Op: "connect", Provider: "iwarp", Err: syscall.EMFILE}}
	why := &rdma.UnreachedError{For: time.Second, Tries: []rdma.Try{local}}
	require.ErrorContains(t, why, "; this rank could not send a connection request")
	require.ErrorContains(t, why, syscall.EMFILE.Error())
	why.Tries = append(why.Tries, rdma.Try{Address: vacant(t), Attempts: 1, Err: io.ErrUnexpectedEOF})
	require.ErrorContains(t, why, "; the process that listens there does not answer like a rank of this job")
}

// TestSearchIsShown checks that Search shows the addresses and the results of the attempts while a rank tries to
// connect.
func TestSearchIsShown(t *testing.T) {
	at := vacant(t)
	r := seeker(t, func(*rdma.Config) {}, at)
	require.Empty(t, r.Search(0), "the rank itself")
	pump(t, []*rank{r}, "some attempts", func() bool {
		return r.Search(1) == "not connected: "+at.String()+" (3 attempts): connection refused"
	})
	require.NoError(t, r.Close())
}

// TestPeerThatWasMetAndRefuses checks the error when a peer that was connected has died. The error must not
// advise the user to choose a network.
func TestPeerThatWasMetAndRefuses(t *testing.T) {
	places := memory(verbstest.StyleIWARP, 2)
	ranks := newWorld(t, places, func(c *rdma.Config) {
		impatient(c)
		c.Absence = patience
	}).ranks(t)
	require.NoError(t, drive(t, ranks, "send", func() error { return ranks[0].to(1).Send(transport.Header{}, nil) }))
	pump(t, ranks, "the message", func() bool { return ranks[1].arrivals == 1 })
	require.NoError(t, ranks[1].Vanish())
	pump(t, ranks[:1], "the loss", func() bool { return len(ranks[0].downs) == 1 })
	var why *rdma.UnreachedError
	require.True(t, errors.As(ranks[0].downs[0], &why))
	require.True(t, why.Lost)
	require.NotContains(t, why.Error(), "-net")
	require.NoError(t, ranks[0].Close())
}
