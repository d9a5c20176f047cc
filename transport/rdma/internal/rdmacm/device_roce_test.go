package rdmacm_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/rdmacm"
)

// numberActive and numberPassive are queue pair numbers. RoCE does not check them, because the connections of
// these tests have no queue pairs.
const numberActive, numberPassive = 0x123, 0x456

// pair is an established connection.
type pair struct {
	active, passive     *side
	id, listener, other *rdmacm.ID
}

// connected makes a connection with private data in both directions.
func connected(t *testing.T, ip netip.Addr) *pair {
	t.Helper()
	p := &pair{active: newSide(t), passive: newSide(t)}
	var at netip.AddrPort
	p.listener, at = p.passive.listener(ip, 1)
	p.id = p.active.resolved(at)
	require.NoError(t, p.id.Connect(&rdmacm.Parameters{
		PrivateData: []byte("question"), QPNumber: numberActive, ResponderResources: 7, InitiatorDepth: 5, RetryCount: 6, RNRRetryCount: 5, FlowControl: true,
	}))
	request := p.passive.next(p.listener, rdmacm.ConnectRequest)
	got := request.Parameters
	require.Equal(t, append([]byte("question"), make([]byte, 56-8)...), got.PrivateData)
	got.PrivateData = nil
	require.Equal(t, rdmacm.Parameters{
		QPNumber: numberActive, ResponderResources: 5, InitiatorDepth: 7, RetryCount: 6, RNRRetryCount: 5, FlowControl: true,
	}, got)
	p.other = request.Request
	for _, next := range []rdmacm.State{rdmacm.StateInit, rdmacm.StateReady} {
		a, err := p.other.Attributes(next)
		require.NoError(t, err)
		require.Equal(t, next, a.State)
		require.NotZero(t, a.Mask)
	}
	require.NoError(t, p.other.Accept(&rdmacm.Parameters{
		PrivateData: []byte("answer"), QPNumber: numberPassive, ResponderResources: 5, InitiatorDepth: 7, RNRRetryCount: 7,
	}))
	e := p.active.next(p.id, rdmacm.ConnectResponse)
	require.Equal(t, append([]byte("answer"), make([]byte, 196-6)...), e.Parameters.PrivateData)
	require.EqualValues(t, numberPassive, e.Parameters.QPNumber)
	require.EqualValues(t, 7, e.Parameters.ResponderResources)
	require.EqualValues(t, 5, e.Parameters.InitiatorDepth)
	a, err := p.id.Attributes(rdmacm.StateReady)
	require.NoError(t, err)
	require.EqualValues(t, numberPassive, a.DestinationQP)
	require.EqualValues(t, 7, a.ReadsServed)
	require.True(t, a.Address.Global)
	a, err = p.id.Attributes(rdmacm.StateSend)
	require.NoError(t, err)
	require.EqualValues(t, 5, a.Reads)
	require.NoError(t, p.id.Accept(nil))
	p.active.none()
	p.passive.next(p.other, rdmacm.Established)
	return p
}

func TestRoCEConnects(t *testing.T) {
	for _, ip := range deviceAddresses(t) {
		t.Run(ip.String(), func(t *testing.T) {
			p := connected(t, ip)
			require.NoError(t, p.id.Disconnect())
			p.passive.next(p.other, rdmacm.Disconnected)
			require.NoError(t, p.other.Disconnect())
			p.active.next(p.id, rdmacm.Disconnected)

			p = connected(t, ip)
			require.NoError(t, p.other.Disconnect())
			p.active.next(p.id, rdmacm.Disconnected)
			require.NoError(t, p.id.Disconnect())
			p.passive.next(p.other, rdmacm.Disconnected)

			p = connected(t, ip)
			require.NoError(t, p.id.Destroy())
			p.passive.next(p.other, rdmacm.Disconnected)
		})
	}
}

func TestRoCERejects(t *testing.T) {
	ip := device(t)
	active, passive := newSide(t), newSide(t)
	listener, at := passive.listener(ip, 1)
	id := active.resolved(at)
	require.NoError(t, id.Connect(&rdmacm.Parameters{QPNumber: numberActive}))
	request := passive.next(listener, rdmacm.ConnectRequest).Request
	require.NoError(t, request.Reject(bytes.Repeat([]byte{9}, 40)))
	require.NoError(passive, request.Destroy())
	e := active.next(id, rdmacm.Rejected)
	require.EqualValues(t, rdmacm.ReasonConsumer, e.Status)
	require.Len(t, e.Parameters.PrivateData, 148)
	require.Equal(t, bytes.Repeat([]byte{9}, 40), e.Parameters.PrivateData[:40])
	require.ErrorIs(t, e.Err(), unix.ECONNREFUSED)
	require.EqualError(t, e.Err(), "REJECTED: connection refused: by the peer's program")

	// A request that no call of Next has returned is refused when its listener is destroyed.
	id = active.resolved(at)
	require.NoError(t, id.Connect(&rdmacm.Parameters{QPNumber: numberActive}))
	require.True(t, passive.ready(patience))
	require.NoError(passive, listener.Destroy())
	passive.none()
	active.next(id, rdmacm.Rejected)

	// No listener has this address any more.
	id = active.resolved(at)
	require.NoError(t, id.Connect(&rdmacm.Parameters{QPNumber: numberActive}))
	e = active.next(id, rdmacm.Rejected)
	require.EqualValues(t, rdmacm.ReasonInvalidServiceID, e.Status)

	// A request of InfiniBand has room for only 56 bytes of private data.
	id = active.resolved(at)
	err := id.Connect(&rdmacm.Parameters{PrivateData: make([]byte, 57), QPNumber: numberActive})
	require.ErrorIs(t, err, unix.EINVAL)
	t.Log(err)
}

// TestRoCEBacklog checks that a request that exceeds the backlog finally arrives, because the sender's kernel
// sends it again.
func TestRoCEBacklog(t *testing.T) {
	ip := device(t)
	active, passive := newSide(t), newSide(t)
	listener, at := passive.listener(ip, 1)
	for n := range uint32(2) { // the kernel would regard a second request with the same number as a stale connection
		require.NoError(t, active.resolved(at).Connect(&rdmacm.Parameters{QPNumber: 0x200 + n}))
	}
	seen := map[*rdmacm.ID]bool{}
	for range 2 {
		seen[passive.next(listener, rdmacm.ConnectRequest).Request] = true
	}
	require.Len(t, seen, 2)
}

// TestRoCEKilled checks that the kernel ends the connections of a process that is killed.
func TestRoCEKilled(t *testing.T) {
	ip := device(t)
	passive := newSide(t)
	listener, at := passive.listener(ip, 1)
	peer := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestRoCEPeer$")
	peer.Env = append(os.Environ(), devicePeer+"="+at.String())
	require.NoError(t, peer.Start())
	request := passive.next(listener, rdmacm.ConnectRequest).Request
	require.NoError(t, request.Accept(&rdmacm.Parameters{QPNumber: numberPassive}))
	passive.next(request, rdmacm.Established)
	require.NoError(t, peer.Process.Kill())
	require.Error(t, peer.Wait())
	passive.next(request, rdmacm.Disconnected)
}

// TestRoCEPeer is the process that TestRoCEKilled kills.
func TestRoCEPeer(t *testing.T) {
	at := os.Getenv(devicePeer)
	if at == "" {
		t.Skip("a process of TestRoCEKilled")
	}
	s := newSide(t)
	id := s.resolved(netip.MustParseAddrPort(at))
	require.NoError(t, id.Connect(&rdmacm.Parameters{QPNumber: numberActive}))
	s.next(id, rdmacm.ConnectResponse)
	require.NoError(t, id.Accept(nil))
	select {}
}

// TestRoCEForeign connects to a program of librdmacm, and rejects a connection request of such a program. The test
// checks that the connection is made and ends in order, and that the program reports the rejection.
func TestRoCEForeign(t *testing.T) {
	ip := device(t)
	s := newSide(t)
	server := exec.CommandContext(t.Context(), "rping", "-s", "-a", ip.String(), "-p", "7190", "-C", "1")
	require.NoError(t, server.Start())
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	at := netip.AddrPortFrom(ip, 7190)
	var id *rdmacm.ID
	for connected := false; !connected; {
		id = s.resolved(at)
		require.NoError(t, id.Connect(&rdmacm.Parameters{QPNumber: numberActive, ResponderResources: 1, InitiatorDepth: 1}))
		e := s.any()
		connected = e.Kind == rdmacm.ConnectResponse
		if !connected { // the program does not listen yet
			require.EqualValues(t, rdmacm.ReasonInvalidServiceID, e.Status, "%v", e.Err())
		}
	}
	require.NoError(t, id.Accept(nil))
	require.NoError(t, id.Disconnect())
	s.next(id, rdmacm.Disconnected)

	listener, at := s.listener(ip, 1)
	client := exec.CommandContext(t.Context(), "rping", "-c", "-a", ip.String(), "-p", fmt.Sprint(at.Port()), "-C", "1")
	var said bytes.Buffer
	client.Stdout, client.Stderr = &said, &said
	require.NoError(t, client.Start())
	request := s.next(listener, rdmacm.ConnectRequest)
	require.NotZero(t, request.Parameters.QPNumber)
	require.NoError(t, request.Request.Reject(nil))
	_ = client.Wait()
	require.Contains(t, said.String(), "RDMA_CM_EVENT_REJECTED, error 28")
}
