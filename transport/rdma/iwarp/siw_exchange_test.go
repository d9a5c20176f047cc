package iwarp_test

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// exchange is an example program of rdmacm-utils whose two sides send messages to each other and end. A test
// plays first one side itself, then the other side.
type exchange struct {
	// name is the command of the client. server is the command of a server that listens at an address.
	name, server string
	count, size  int
	// passiveFirst says that the server sends all its messages before the client sends any.
	passiveFirst bool
	// echoes says that the client sends back the messages that it has received.
	echoes bool
}

// exchanges contains two example programs of librdmacm: cmatose, whose passive side sends first, and
// rdma_client.
var exchanges = []exchange{
	{name: "ucmatose", server: "ucmatose -b %[1]v -p %[2]v", count: 10, size: 100, passiveFirst: true, echoes: true},
	{name: "rdma_client", server: "rdma_server -p %[2]v", count: 1, size: 16},
}

// siwExchange is the environment variable of an exchange in the virtual machine. Its value is the name of the
// exchange, the side that the test binary plays, and an address.
const siwExchange = "GORUN_TEST_SIW_EXCHANGE"

// programs runs the command of each side of each exchange in the virtual machine. The test binary plays the
// other side: once in the virtual machine, and once on the host through forwarded ports.
func (g *siwGuest) programs(t *testing.T, forwarded ...int) {
	t.Helper()
	for i, x := range exchanges {
		within := func(side string, port int) string {
			return fmt.Sprintf("%s='%s %s 10.9.1.1:%d' ./tests -test.run ^TestSiwExchange$ -test.v", siwExchange, x.name, side, port)
		}
		t.Run(x.name+"'s server, from within", func(t *testing.T) {
			port := 7190 + i
			g.background(t, "timeout 60 "+fmt.Sprintf(x.server, "10.9.1.1", port))
			g.listening(t, port)
			g.run(t, within("client", port))
		})
		t.Run(x.name+", from within", func(t *testing.T) {
			port := 7195 + i
			g.background(t, within("server", port))
			g.listening(t, port)
			g.run(t, fmt.Sprintf("timeout 60 %s -s 10.9.1.1 -p %d", x.name, port))
		})
		t.Run(x.name+"'s server, from outside", func(t *testing.T) {
			g.background(t, "timeout 60 "+fmt.Sprintf(x.server, "10.0.2.15", forwarded[i]))
			g.listening(t, forwarded[i])
			x.client(t, netip.AddrPortFrom(netip.MustParseAddr(loopback), uint16(g.Port(forwarded[i]))))
		})
		t.Run(x.name+", from outside", func(t *testing.T) {
			x.serve(t, netip.AddrPortFrom(netip.MustParseAddr(loopback), 0), func(at netip.AddrPort) {
				g.background(t, fmt.Sprintf("timeout 60 %s -s 10.0.2.2 -p %d", x.name, at.Port()))
			})
		})
	}
}

// TestSiwExchange plays one side of an exchange. The other side is the example program, which runs on siw.
func TestSiwExchange(t *testing.T) {
	words := strings.Fields(os.Getenv(siwExchange))
	if len(words) != 3 {
		t.Skip("runs in a guest machine: see TestSiw")
	}
	at := netip.MustParseAddrPort(words[2])
	for _, x := range exchanges {
		switch {
		case x.name != words[0]:
		case words[1] == "client":
			x.client(t, at)
		default:
			x.serve(t, at, func(netip.AddrPort) {})
		}
	}
}

// prepare makes an endpoint, posts receives for all messages, each with its own memory, and fills the memory of
// the messages to send.
func (x *exchange) prepare(t *testing.T, at netip.AddrPort) *siwPeer {
	t.Helper()
	p := newSiwPeer(t, at, iwarp.Config{})
	for i := range x.count {
		require.NoError(t, p.ep.PostReceive(&verbs.ReceiveRequest{ID: uint64(i), Segments: []verbs.Segment{p.region.Segment(i*x.size, x.size)}}))
	}
	copy(x.message(p).Data, strings.Repeat("exchange", x.size))
	return p
}

// message returns the segment of the message that is sent repeatedly.
func (x *exchange) message(p *siwPeer) verbs.Segment { return p.region.Segment(2048, x.size) }

// client plays the client.
func (x *exchange) client(t *testing.T, at netip.AddrPort) {
	t.Helper()
	p := x.prepare(t, at)
	require.NoError(t, p.ep.Connect(at, connectOptions(depthOne())))
	e := p.connection()
	require.Equal(t, verbs.EventEstablished, e.Type, "%v", e.Err)
	if x.passiveFirst {
		x.receive(p)
		x.send(p)
	} else {
		x.send(p)
		x.receive(p)
	}
	e = p.connection()
	require.Equal(t, verbs.EventDisconnected, e.Type, "%v", e.Err)
}

// serve plays the server. It calls ready with the address at which it listens.
func (x *exchange) serve(t *testing.T, at netip.AddrPort, ready func(netip.AddrPort)) {
	t.Helper()
	p := x.prepare(t, at)
	p.accept(at, ready)
	if x.passiveFirst {
		x.send(p)
		x.receive(p)
	} else {
		x.receive(p)
		x.send(p)
	}
	if x.echoes {
		for i := range x.count {
			require.Equal(t, x.message(p).Data, p.memory[i*x.size:(i+1)*x.size], "message %d", i)
		}
	}
	require.NoError(t, p.ep.Disconnect(verbs.CloseGraceful))
	e := p.connection()
	require.Equal(t, verbs.EventDisconnected, e.Type, "%v", e.Err)
}

// send posts all messages at once, as the example programs do, and waits until they are complete.
func (x *exchange) send(p *siwPeer) {
	p.tb.Helper()
	for range x.count {
		require.NoError(p.tb, p.ep.Post(&verbs.WorkRequest{Op: verbs.OpSend, Segments: []verbs.Segment{x.message(p)}}))
	}
	for range x.count {
		c := p.next("send", func(c *verbs.Completion) bool { return c.Stream == verbs.StreamRequest })
		p.succeeded(&c)
	}
}

// receive waits for all messages of the peer, in order.
func (x *exchange) receive(p *siwPeer) {
	p.tb.Helper()
	for i := range x.count {
		c := p.next("message", func(c *verbs.Completion) bool { return c.Stream == verbs.StreamReceive })
		p.succeeded(&c)
		require.Equal(p.tb, uint64(i), c.ID)
		require.Equal(p.tb, x.size, c.Length)
	}
}
