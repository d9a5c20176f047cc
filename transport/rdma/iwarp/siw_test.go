package iwarp_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/rdmavm"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/kernel"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// The tests of this file connect to the kernel's siw driver through rping of rdmacm-utils in a virtual machine.
// The other side is the test binary: once in the virtual machine, and once on the host, through QEMU's network.
//
// rping's client announces a source buffer. The server reads the source and answers. Then the client announces a
// sink buffer, and the server writes the same bytes into it. An announcement is a message of 16 bytes: address,
// key and length, in big-endian order.
const (
	rpingLength = 64
	rpingRounds = 5
)

// These environment variables configure a test that runs in the virtual machine. siwServer and siwClient each
// hold an address. If byKernel is set, the test binary uses the kernel's adapter with this address instead of
// the provider in user space.
const (
	siwServer = "GORUN_TEST_SIW_SERVER"
	siwClient = "GORUN_TEST_SIW_CLIENT"
	byKernel  = "GORUN_TEST_SIW_KERNEL"
)

// These are the addresses of the virtual machine on rxe and on siw.
var (
	rxeAddress       = netip.AddrFrom4([4]byte{10, 9, 0, 1})
	siwAddressWithin = netip.AddrFrom4([4]byte{10, 9, 1, 1})
)

// siwGuest is a virtual machine with siw. The test binary is in the directory that the virtual machine shares
// with the host.
type siwGuest struct{ *rdmavm.Guest }

// run runs a command, which has to succeed.
func (g *siwGuest) run(t *testing.T, command string) {
	t.Helper()
	out, status, err := g.Run(command)
	require.NoError(t, err)
	require.Zero(t, status, "%s: %s", command, out)
}

// background runs a command until the end of the test. The command has to succeed.
func (g *siwGuest) background(t *testing.T, command string) {
	t.Helper()
	c, err := g.Start(command)
	require.NoError(t, err)
	t.Cleanup(func() {
		status, err := c.Wait()
		require.NoError(t, err)
		require.Zero(t, status, "%s: %s", command, c.Output())
	})
}

// listening waits until a program in the virtual machine listens at a TCP port.
func (g *siwGuest) listening(t *testing.T, port int) {
	t.Helper()
	g.run(t, fmt.Sprintf("until grep -q ':%04X .* 0A ' /proc/net/tcp /proc/net/tcp6; do usleep 20000; done", port))
}

// announced waits until a program of librdmacm listens at an address.
func (g *siwGuest) announced(t *testing.T, at netip.AddrPort) {
	t.Helper()
	g.run(t, fmt.Sprintf("until rdma resource show cm_id | grep -qE 'LISTEN.*src-addr .*:%d( |$)'; do usleep 20000; done", at.Port()))
}

// TestSiw uses one virtual machine for all its tests.
func TestSiw(t *testing.T) {
	share := t.TempDir()
	g := &siwGuest{rdmavm.Start(t, rdmavm.Config{
		Share: share, Devices: []string{"rxe:dummy0", "siw:dummy1", "siw:eth0"}, Forward: []int{7174, 7176, 7177}, Limit: 5 * time.Minute,
	})}
	rdmavm.TestProgram(t, share)
	t.Run("server, from within", func(t *testing.T) {
		g.background(t, "timeout 60 rping -s -a 10.9.1.1 -p 7180 -C "+strconv.Itoa(rpingRounds))
		g.listening(t, 7180)
		g.run(t, siwServer+"=10.9.1.1:7180 ./tests -test.run ^TestSiwServer$ -test.v")
	})
	t.Run("client, from within", func(t *testing.T) {
		g.background(t, siwClient+"=10.9.1.1:7175 ./tests -test.run ^TestSiwClient$ -test.v")
		g.listening(t, 7175)
		g.run(t, "timeout 60 rping -c -v -a 10.9.1.1 -p 7175 -C "+strconv.Itoa(rpingRounds))
	})
	t.Run("server, from outside", func(t *testing.T) {
		// The server runs in a loop, because siw sometimes loses the wake-up of the first message. Revision 1 is
		// not tested: it exchanges no Read depth, so rping ends the connection.
		g.background(t, "timeout -s KILL 100 rping -s -P -a 10.0.2.15 -p 7174 >/tmp/rping 2>&1; true")
		g.listening(t, 7174)
		for i, c := range []iwarp.Config{{}, {NoCRC: true}, {ReadRTR: true}, {}, {}, {}, {}, {}} {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				pingServer(t, netip.AddrPortFrom(netip.MustParseAddr(loopback), uint16(g.Port(7174))), c)
			})
		}
		g.run(t, "killall -9 rping")
	})
	t.Run("client, from outside", func(t *testing.T) {
		pingClient(t, netip.AddrPortFrom(netip.MustParseAddr(loopback), 0), func(at netip.AddrPort) {
			g.background(t, fmt.Sprintf("timeout 60 rping -c -v -a 10.0.2.2 -p %d -C %d", at.Port(), rpingRounds))
		})
	})
	g.programs(t, 7176, 7177)
	for _, address := range []netip.Addr{rxeAddress, siwAddressWithin} {
		t.Run("by the kernel, "+address.String(), func(t *testing.T) { g.byKernel(t, address) })
	}
}

// siwAttempts is the maximum number of attempts of an exchange if both sides use siw. The driver makes about one
// exchange in fifty fail on a loaded machine. If the passive side sends first, the connection can end while the
// sides still connect (siw_proc_mpareply: EINVAL). If the peer disconnects before the last send is complete, the
// send can fail although the peer has received it (siw_qp_sq_process).
const siwAttempts = 4

// exchange starts a server in the virtual machine, and starts its client when the server listens. Each attempt
// uses another port.
func (g *siwGuest) exchange(t *testing.T, address netip.Addr, port uint16, server, client string) {
	t.Helper()
	attempts := siwAttempts
	if address == rxeAddress {
		attempts = 1
	}
	var said []string
	for range attempts {
		s, err := g.Start("echo $$ >/tmp/server; exec env " + fmt.Sprintf(server, address, port))
		require.NoError(t, err)
		g.announced(t, netip.AddrPortFrom(address, port))
		out, status, err := g.Run(fmt.Sprintf(client, address, port))
		require.NoError(t, err)
		if status != 0 { // after a failed client the server may wait forever
			g.run(t, "kill $(cat /tmp/server) || true")
		}
		served, err := s.Wait()
		require.NoError(t, err)
		if status == 0 && served == 0 {
			return
		}
		said = append(said, fmt.Sprintf("client %d: %s\nserver %d: %s", status, out, served, s.Output()))
		port++
	}
	require.Fail(t, "exchange", "%s", strings.Join(said, "\n"))
}

// byKernel runs the command of each side of rping and of each exchange in the virtual machine. The test binary
// plays the other side on the kernel's adapter.
func (g *siwGuest) byKernel(t *testing.T, address netip.Addr) {
	t.Helper()
	within := func(setting, test string) string {
		return fmt.Sprintf("%s=1 %s ./tests -test.run ^%s$ -test.v", byKernel, setting, test)
	}
	both := func(name, server, client string, port uint16, asClient, asServer string) {
		t.Run(name+", server", func(t *testing.T) {
			g.exchange(t, address, port, "timeout 60 "+server, asClient)
		})
		t.Run(name+", client", func(t *testing.T) {
			g.exchange(t, address, port+siwAttempts, asServer, "timeout 60 "+client)
		})
	}
	both("rping", "rping -s -a %[1]v -p %[2]v", fmt.Sprintf("rping -c -v -C %d -a %%[1]v -p %%[2]v", rpingRounds), 7200,
		within(siwServer+"=%[1]v:%[2]v", "TestSiwServer"), within(siwClient+"=%[1]v:%[2]v", "TestSiwClient"))
	for i, x := range exchanges {
		both(x.name, x.server, x.name+" -s %[1]v -p %[2]v", uint16(7210+10*i),
			within(siwExchange+"='"+x.name+" client %[1]v:%[2]v'", "TestSiwExchange"), within(siwExchange+"='"+x.name+" server %[1]v:%[2]v'", "TestSiwExchange"))
	}
}

// siwAddress returns the address in an environment variable. It skips the test if the variable is not set.
func siwAddress(t *testing.T, name string) netip.AddrPort {
	t.Helper()
	at := os.Getenv(name)
	if at == "" {
		t.Skipf("runs in a guest machine: see TestSiw")
	}
	return netip.MustParseAddrPort(at)
}

// siwPeer is an endpoint whose peer is on siw.
type siwPeer struct {
	*side
	ep  *verbs.Endpoint
	ctx context.Context
}

func newSiwPeer(t *testing.T, at netip.AddrPort, c iwarp.Config) *siwPeer {
	t.Helper()
	return newSiwPeerOf(t, at, c, 4096)
}

// newSiwPeerOf does the same as newSiwPeer, but with the given number of bytes of memory.
func newSiwPeerOf(t *testing.T, at netip.AddrPort, c iwarp.Config, memory int) *siwPeer {
	t.Helper()
	var provider verbs.Provider = iwarp.New(c)
	if os.Getenv(byKernel) != "" {
		provider = kernel.New(kernel.Config{})
	}
	adapter, err := verbs.Open(provider, at.Addr().String())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	p := &siwPeer{side: wrap(t, adapter, memory), ctx: ctx}
	p.ep = p.endpoint()
	return p
}

// accept listens, calls ready with the address, and accepts the first request.
func (p *siwPeer) accept(at netip.AddrPort, ready func(netip.AddrPort)) {
	p.tb.Helper()
	l, err := p.adapter.Listen(verbs.ListenOptions{Queue: p.queue, Address: at})
	require.NoError(p.tb, err)
	ready(l.Address())
	request := p.next("request", func(c *verbs.Completion) bool { return c.Stream == verbs.StreamConnectionRequest }).Event.Request
	require.NoError(p.tb, request.Accept(p.ep, depthOne()))
	e := p.connection()
	require.Equal(p.tb, verbs.EventEstablished, e.Type, "%v", e.Err)
}

// rping is one side of rping's protocol.
type rping struct{ *siwPeer }

func newRping(t *testing.T, at netip.AddrPort, c iwarp.Config) *rping {
	t.Helper()
	r := &rping{newSiwPeer(t, at, c)}
	r.listenFor(0)
	return r
}

// next waits for a completion that matches.
func (p *siwPeer) next(what string, match func(*verbs.Completion) bool) verbs.Completion {
	p.tb.Helper()
	for {
		for i, c := range p.log {
			if match(&c) {
				p.log = append(p.log[:i], p.log[i+1:]...)
				return c
			}
		}
		require.NoError(p.tb, p.queue.Wait(p.ctx, 1), what)
		p.poll()
	}
}

// listenFor posts the receive of the next announcement.
func (r *rping) listenFor(id uint64) {
	r.tb.Helper()
	require.NoError(r.tb, r.ep.PostReceive(&verbs.ReceiveRequest{ID: id, Segments: []verbs.Segment{r.region.Segment(0, 16)}}))
}

// heard waits for an announcement and posts the receive of the next one.
func (r *rping) heard() (address uint64, key uint32, length int) {
	r.tb.Helper()
	c := r.next("announcement", func(c *verbs.Completion) bool { return c.Stream == verbs.StreamReceive })
	r.succeeded(&c)
	require.Equal(r.tb, 16, c.Length)
	b := r.memory
	address, key, length = binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:]), int(binary.BigEndian.Uint32(b[12:]))
	r.listenFor(c.ID + 1)
	return address, key, length
}

// announce sends an announcement of n bytes of this side's memory.
func (r *rping) announce(off, n int) {
	r.tb.Helper()
	m := r.region.Remote(off, n)
	b := r.memory[32:48]
	binary.BigEndian.PutUint64(b, m.Address)
	binary.BigEndian.PutUint32(b[8:], m.RKey)
	binary.BigEndian.PutUint32(b[12:], uint32(n))
	r.post(verbs.WorkRequest{Op: verbs.OpSend, Segments: []verbs.Segment{r.region.Segment(32, 16)}})
}

// succeeded checks that a completion is successful. Otherwise the test fails with the reason why the connection
// ended.
func (p *siwPeer) succeeded(c *verbs.Completion) {
	p.tb.Helper()
	if c.Status != verbs.StatusSuccess {
		e := p.connection()
		require.FailNow(p.tb, "request", "%v: %v: %v", c.Status, e.Type, e.Err)
	}
}

// post posts a work request and waits for its completion.
func (r *rping) post(w verbs.WorkRequest) {
	r.tb.Helper()
	require.NoError(r.tb, r.ep.Post(&w))
	c := r.next("request", func(c *verbs.Completion) bool { return c.Stream == verbs.StreamRequest })
	r.succeeded(&c)
}

func (p *siwPeer) connection() *verbs.Event {
	p.tb.Helper()
	return p.next("event", func(c *verbs.Completion) bool { return c.Stream == verbs.StreamConnection }).Event
}

func depthOne() *verbs.ConnParam {
	return &verbs.ConnParam{ResponderResources: 1, InitiatorDepth: 1}
}

// TestSiwServer plays rping's client. The server runs on siw.
func TestSiwServer(t *testing.T) {
	pingServer(t, siwAddress(t, siwServer), iwarp.Config{})
}

// pingServer plays rping's client.
func pingServer(t *testing.T, at netip.AddrPort, c iwarp.Config) {
	t.Helper()
	r := newRping(t, at, c)
	require.NoError(t, r.ep.Connect(at, connectOptions(depthOne())))
	e := r.connection()
	require.Equal(t, verbs.EventEstablished, e.Type, "%v", e.Err)
	for round := range rpingRounds {
		source, sink := r.memory[1024:1024+rpingLength], r.memory[2048:2048+rpingLength]
		for i := range source[:rpingLength-1] {
			source[i] = 'A' + byte((i+round)%26) // rping writes back only the bytes before the first zero
		}
		clear(sink)
		r.announce(1024, rpingLength)
		r.heard() // the server has read the source
		r.announce(2048, rpingLength)
		r.heard() // the server has written the sink
		require.Equal(t, source, sink)
	}
	require.NoError(t, r.ep.Disconnect(verbs.CloseGraceful))
	require.Equal(t, verbs.EventDisconnected, r.connection().Type)
}

// TestSiwClient plays rping's server. The client runs on siw.
func TestSiwClient(t *testing.T) {
	pingClient(t, siwAddress(t, siwClient), func(netip.AddrPort) {})
}

// pingClient plays rping's server. It calls ready with the address at which it listens.
func pingClient(t *testing.T, at netip.AddrPort, ready func(netip.AddrPort)) {
	t.Helper()
	r := newRping(t, at, iwarp.Config{})
	r.accept(at, ready)
	for range rpingRounds {
		address, key, length := r.heard()
		local := []verbs.Segment{r.region.Segment(1024, length)}
		r.post(verbs.WorkRequest{Op: verbs.OpRead, Segments: local, RemoteAddress: address, RKey: key})
		r.announce(0, 0)
		address, key, _ = r.heard()
		r.post(verbs.WorkRequest{Op: verbs.OpWrite, Segments: local, RemoteAddress: address, RKey: key})
		r.announce(0, 0)
	}
	require.Equal(t, verbs.EventDisconnected, r.connection().Type)
}
