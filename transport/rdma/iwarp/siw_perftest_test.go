package iwarp_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/rdmavm"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// perftest is a program of package perftest, run with the option -R. Its two sides make a first connection with
// rdma_cm. On this connection they exchange parameters: each side sends one message and waits for a message of
// the other side. They make a second connection for the measurement. A test plays first one side itself, then
// the other side.
type perftest struct {
	// name is the command.
	name string
	op   verbs.Opcode
	// shakes is the number of times that the sides exchange the addresses of their memory between the setup of
	// the second connection and the measurement.
	shakes      int
	count, size int
}

var perftests = []perftest{
	{"ib_send_lat", verbs.OpSend, 4, 50, 64},
	{"ib_write_bw", verbs.OpWrite, 3, 50, 64 << 10},
	{"ib_read_lat", verbs.OpRead, 4, 50, 8 << 10},
}

// These constants divide the memory of a side into messages of the first connection and data of the measurement.
const (
	perftestSay    = 0
	perftestHear   = 256 // the offset of two slots of messages that the peer sends
	perftestSlot   = 64
	perftestData   = 4096
	perftestMemory = perftestData + 64<<10
	// perftestReceives is the number of receives that are posted for messages of the measurement.
	perftestReceives = 8
	// perftestPatience is the timeout of a test on a busy machine.
	perftestPatience = 100 * time.Second
)

// siwPerftest is the environment variable of a test in the virtual machine. Its value is the name of the program
// of package perftest, the side that the test binary plays, and an address.
const siwPerftest = "GORUN_TEST_SIW_PERFTEST"

// perftestPeer is the side of a measurement that the test binary plays.
type perftestPeer struct {
	*siwPeer
	*perftest
	server        bool
	control, data *verbs.Endpoint
	heard         int
	// address and rkey are the address and the key of the other side's memory.
	address uint64
	rkey    uint32
}

// TestPerftest uses one virtual machine for all programs of package perftest. The test binary plays each side of
// each program, both on adapters of the kernel and on the provider in user space.
func TestPerftest(t *testing.T) {
	share := t.TempDir()
	g := &siwGuest{rdmavm.Start(t, rdmavm.Config{Share: share, Limit: 9 * time.Minute})}
	rdmavm.TestProgram(t, share)
	for i, way := range []struct {
		name, address, device string
		kernel                bool
	}{
		{"rxe by the kernel", "10.9.0.1", "rxe_dummy0", true},
		{"siw by the kernel", "10.9.1.1", "siw_dummy1", true},
		{"siw in user space", "10.9.1.1", "siw_dummy1", false},
	} {
		t.Run(way.name, func(t *testing.T) { g.perftests(t, way.address, way.device, way.kernel, 7300+20*i) })
	}
}

// TestSiwPerftest plays one side of a measurement. The program of package perftest is the other side.
func TestSiwPerftest(t *testing.T) {
	words := strings.Fields(os.Getenv(siwPerftest))
	if len(words) != 3 {
		t.Skip("runs in a guest machine: see TestPerftest")
	}
	at := netip.MustParseAddrPort(words[2])
	for i := range perftests {
		if perftests[i].name == words[0] {
			perftests[i].take(t, words[1] == "server", at)
		}
	}
}

// take plays the client, or the server if the argument server is true.
func (x *perftest) take(t *testing.T, server bool, at netip.AddrPort) {
	t.Helper()
	p := &perftestPeer{siwPeer: newSiwPeerOf(t, at, iwarp.Config{}, perftestMemory), perftest: x, server: server}
	ctx, cancel := context.WithTimeout(t.Context(), perftestPatience)
	t.Cleanup(cancel)
	p.ctx = ctx
	p.control = p.ep
	p.listenFor(0)
	p.listenFor(1)
	var first *verbs.Event
	if server {
		l, err := p.adapter.Listen(verbs.ListenOptions{Queue: p.queue, Address: at})
		require.NoError(t, err)
		defer func() { require.NoError(t, l.Close()) }()
		first = p.accepts(p.control, 0)
	} else {
		first = p.connects(p.control, at, 0)
	}
	require.Equal(t, verbs.EventEstablished, first.Type, "%v", first.Err)
	version := make([]byte, 16)
	copy(version, "6.00")
	theirs := p.exchange(version)
	require.Regexp(t, `^[5-9]\.\d+\x00*$`, string(theirs))
	for _, n := range []uint32{4096, 64} { // bytes of the buffer and of a cache line
		p.exchange(binary.BigEndian.AppendUint32(nil, n))
	}
	p.exchange([]byte("3\x00")) // IBV_MTU_1024
	p.shake()
	p.second(at)
	for range x.shakes + 1 {
		p.shake()
	}
	p.test()
	if x.op == verbs.OpWrite {
		p.shake()
		report := []uint64{uint64(x.size), uint64(x.count), 1 << 62, 1 << 62, 1 << 62}
		for _, v := range report { // the client's size and iterations, and rates as float64
			p.exchange(binary.BigEndian.AppendUint64(nil, v))
		}
	}
	p.shake()
}

// second makes the connection of the measurement. It retries, because perftest's server may not listen again
// yet.
func (p *perftestPeer) second(at netip.AddrPort) {
	p.tb.Helper()
	depth := 0
	if p.op == verbs.OpRead {
		depth = 1
	}
	for {
		p.data = p.endpoint()
		if p.op == verbs.OpSend {
			for i := range perftestReceives {
				p.receive(uint64(i))
			}
		}
		var e *verbs.Event
		if p.server {
			e = p.accepts(p.data, depth)
		} else {
			e = p.connects(p.data, at, depth)
		}
		if e.Type == verbs.EventEstablished {
			return
		}
		require.False(p.tb, p.server, "%v", e.Err)
		require.ErrorContains(p.tb, e.Err, "refused")
	}
}

// receive posts the receive of message number id of the measurement.
func (p *perftestPeer) receive(id uint64) {
	p.tb.Helper()
	require.NoError(p.tb, p.data.PostReceive(&verbs.ReceiveRequest{ID: id, Segments: []verbs.Segment{p.region.Segment(perftestData, p.size)}}))
}

// depths returns the connection parameters that perftest uses, with n as both depths.
func depths(n int) *verbs.ConnParam {
	return &verbs.ConnParam{ResponderResources: n, InitiatorDepth: n, RetryCount: 7, RNRRetryCount: 7}
}

// connects connects an endpoint.
func (p *perftestPeer) connects(ep *verbs.Endpoint, at netip.AddrPort, depth int) *verbs.Event {
	p.tb.Helper()
	require.NoError(p.tb, ep.Connect(at, connectOptions(depths(depth))))
	return p.of(ep, verbs.StreamConnection).Event
}

// accepts accepts the next request.
func (p *perftestPeer) accepts(ep *verbs.Endpoint, depth int) *verbs.Event {
	p.tb.Helper()
	request := p.next("request", func(c *verbs.Completion) bool { return c.Stream == verbs.StreamConnectionRequest }).Event.Request
	require.NoError(p.tb, request.Accept(ep, depths(depth)))
	return p.of(ep, verbs.StreamConnection).Event
}

// of waits for a completion on the given stream of an endpoint.
func (p *perftestPeer) of(ep *verbs.Endpoint, stream verbs.Stream) verbs.Completion {
	p.tb.Helper()
	return p.next(fmt.Sprint("stream ", stream), func(c *verbs.Completion) bool { return c.Stream == stream && c.Endpoint == ep })
}

// done waits for a completion, which has to be successful.
func (p *perftestPeer) done(ep *verbs.Endpoint, stream verbs.Stream) verbs.Completion {
	p.tb.Helper()
	c := p.of(ep, stream)
	require.Equal(p.tb, verbs.StatusSuccess, c.Status)
	return c
}

// listenFor posts the receive of a message of the first connection.
func (p *perftestPeer) listenFor(slot int) {
	p.tb.Helper()
	require.NoError(p.tb, p.control.PostReceive(&verbs.ReceiveRequest{Segments: []verbs.Segment{p.region.Segment(perftestHear+slot*perftestSlot, perftestSlot)}}))
}

// exchange sends a message on the first connection and returns the peer's message. The client sends first.
func (p *perftestPeer) exchange(message []byte) []byte {
	p.tb.Helper()
	say := func() {
		copy(p.memory[perftestSay:], message)
		require.NoError(p.tb, p.control.Post(&verbs.WorkRequest{Op: verbs.OpSend, Segments: []verbs.Segment{p.region.Segment(perftestSay, len(message))}}))
		p.done(p.control, verbs.StreamRequest)
	}
	if !p.server {
		say()
	}
	c := p.done(p.control, verbs.StreamReceive)
	require.Equal(p.tb, len(message), c.Length)
	slot := p.heard % 2
	theirs := bytes.Clone(p.memory[perftestHear+slot*perftestSlot:][:c.Length])
	p.heard++
	p.listenFor(slot)
	if p.server {
		say()
	}
	return theirs
}

// shake exchanges the addresses of the memory of both sides. The message is perftest's struct pingpong_dest in
// big-endian order.
func (p *perftestPeer) shake() {
	p.tb.Helper()
	const rkey, address, length = 16, 24, 56
	b := make([]byte, length)
	mine := p.region.Remote(perftestData, p.size)
	binary.BigEndian.PutUint32(b[rkey:], mine.RKey)
	binary.BigEndian.PutUint64(b[address:], mine.Address)
	b = p.exchange(b)
	p.address, p.rkey = binary.BigEndian.Uint64(b[address:]), binary.BigEndian.Uint32(b[rkey:])
}

// test runs the measurement. The program of package perftest has filled its memory with random bytes.
func (p *perftestPeer) test() {
	p.tb.Helper()
	segments := []verbs.Segment{p.region.Segment(perftestData, p.size)}
	data := p.memory[perftestData:][:p.size]
	w := verbs.WorkRequest{Op: p.op, Segments: segments}
	if p.op != verbs.OpSend {
		if p.server {
			return // the client does all the work
		}
		w.RemoteAddress, w.RKey = p.address, p.rkey
	}
	var first []byte
	for i := range p.count {
		if p.op == verbs.OpSend && p.server {
			p.ping()
		}
		require.NoError(p.tb, p.data.Post(&w))
		p.done(p.data, verbs.StreamRequest)
		switch {
		case p.op == verbs.OpSend && !p.server:
			p.ping()
		case p.op == verbs.OpRead && i == 0:
			first = bytes.Clone(data)
			require.Less(p.tb, bytes.Count(first, []byte{0}), p.size/8)
		case p.op == verbs.OpRead:
			require.Equal(p.tb, first, data)
			clear(data)
		}
	}
}

// ping receives a message of the measurement.
func (p *perftestPeer) ping() {
	p.tb.Helper()
	c := p.done(p.data, verbs.StreamReceive)
	require.Equal(p.tb, p.size, c.Length)
	p.receive(c.ID)
}

// perftests runs each side of each program of package perftest in the virtual machine. The test binary plays the
// other side, on the kernel's adapter or on the provider in user space.
func (g *siwGuest) perftests(t *testing.T, address, device string, kernel bool, port int) {
	t.Helper()
	own := func(x *perftest, side string, at netip.AddrPort) string {
		setting := ""
		if kernel {
			setting = byKernel + "=1 "
		}
		return fmt.Sprintf("%s%s='%s %s %v' ./tests -test.run ^TestSiwPerftest$ -test.v", setting, siwPerftest, x.name, side, at)
	}
	for i := range perftests {
		x := &perftests[i]
		command := func(at netip.AddrPort) string {
			depth := "" // by default perftest uses the maximum of the device, which is more than the provider serves
			if x.op == verbs.OpRead {
				depth = " -o 1"
			}
			return fmt.Sprintf("timeout 100 %s -R -F -d %s -n %d -s %d -p %d%s", x.name, device, x.count, x.size, at.Port(), depth)
		}
		at := netip.AddrPortFrom(netip.MustParseAddr(address), uint16(port+2*i))
		t.Run(x.name+"'s server", func(t *testing.T) {
			server, err := g.Start(command(at))
			require.NoError(t, err)
			g.announced(t, at)
			g.run(t, own(x, "client", at))
			status, err := server.Wait()
			require.NoError(t, err)
			require.Zero(t, status, server.Output())
		})
		at = netip.AddrPortFrom(at.Addr(), at.Port()+1)
		t.Run(x.name, func(t *testing.T) {
			g.background(t, own(x, "server", at))
			if kernel {
				g.announced(t, at)
			} else {
				g.listening(t, int(at.Port()))
			}
			out, status, err := g.Run(command(at) + " " + address)
			require.NoError(t, err)
			require.Zero(t, status, out)
			require.Regexp(t, fmt.Sprintf(`(?m)^ %d +%d +\d`, x.size, x.count), out)
		})
	}
}
