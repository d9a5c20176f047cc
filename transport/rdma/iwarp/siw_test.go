package iwarp_test

import (
	"context"
	"encoding/binary"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// The tests of this file speak with the kernel's siw driver through rping of
// rdmacm-utils, which the one who runs them starts:
//
//	GORUN_TEST_SIW_SERVER=10.9.1.1:7174   rping -s -a 10.9.1.1 listens there
//	GORUN_TEST_SIW_CLIENT=10.9.1.1:7175   rping -c -a 10.9.1.1 -p 7175 -C 5 is going to connect there
//
// rping's client announces a source; the server reads it, says so, is told of a
// sink, and writes the same bytes there. Announcements are messages of 16 bytes:
// address, key and length, big-endian.
const (
	rpingLength = 64
	rpingRounds = 5
)

// siwAddress returns an address that the environment names, or skips.
func siwAddress(t *testing.T, name string) netip.AddrPort {
	t.Helper()
	at := os.Getenv(name)
	if at == "" {
		t.Skipf("%s is not set: no siw here", name)
	}
	return netip.MustParseAddrPort(at)
}

// rping is one side of the protocol.
type rping struct {
	*side
	ep  *verbs.Endpoint
	ctx context.Context
}

func newRping(t *testing.T, at netip.AddrPort) *rping {
	t.Helper()
	adapter, err := verbs.Open(iwarp.New(iwarp.Config{}), at.Addr().String())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	r := &rping{side: wrap(t, adapter, 4096), ctx: ctx}
	r.ep = r.endpoint()
	r.listenFor(0)
	return r
}

// next waits for something that matches.
func (r *rping) next(what string, match func(*verbs.Completion) bool) verbs.Completion {
	r.tb.Helper()
	for {
		for i, c := range r.log {
			if match(&c) {
				r.log = append(r.log[:i], r.log[i+1:]...)
				return c
			}
		}
		require.NoError(r.tb, r.queue.Wait(r.ctx, 1), what)
		r.poll()
	}
}

// listenFor posts the receive of the next announcement.
func (r *rping) listenFor(id uint64) {
	r.tb.Helper()
	require.NoError(r.tb, r.ep.PostReceive(&verbs.ReceiveRequest{ID: id, Segments: []verbs.Segment{r.region.Segment(0, 16)}}))
}

// heard waits for the announcement and posts the receive of the next one.
func (r *rping) heard() (address uint64, key uint32, length int) {
	r.tb.Helper()
	c := r.next("announcement", func(c *verbs.Completion) bool { return c.Stream == verbs.StreamReceive })
	require.Equal(r.tb, verbs.StatusSuccess, c.Status)
	require.Equal(r.tb, 16, c.Length)
	b := r.memory
	address, key, length = binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:]), int(binary.BigEndian.Uint32(b[12:]))
	r.listenFor(c.ID + 1)
	return address, key, length
}

// announce sends an announcement of n bytes of our memory.
func (r *rping) announce(off, n int) {
	r.tb.Helper()
	m := r.region.Remote(off, n)
	b := r.memory[32:48]
	binary.BigEndian.PutUint64(b, m.Address)
	binary.BigEndian.PutUint32(b[8:], m.RKey)
	binary.BigEndian.PutUint32(b[12:], uint32(n))
	r.post(verbs.WorkRequest{Op: verbs.OpSend, Segments: []verbs.Segment{r.region.Segment(32, 16)}})
}

// post posts a request and waits for its end.
func (r *rping) post(w verbs.WorkRequest) {
	r.tb.Helper()
	require.NoError(r.tb, r.ep.Post(&w))
	c := r.next("request", func(c *verbs.Completion) bool { return c.Stream == verbs.StreamRequest })
	require.Equal(r.tb, verbs.StatusSuccess, c.Status)
}

func (r *rping) connection() *verbs.Event {
	r.tb.Helper()
	return r.next("event", func(c *verbs.Completion) bool { return c.Stream == verbs.StreamConnection }).Event
}

func depthOne() *verbs.ConnParam {
	return &verbs.ConnParam{ResponderResources: 1, InitiatorDepth: 1}
}

// TestSiwServer is the client of a server that runs on siw.
func TestSiwServer(t *testing.T) {
	at := siwAddress(t, "GORUN_TEST_SIW_SERVER")
	r := newRping(t, at)
	require.NoError(t, r.ep.Connect(at, connectOptions(depthOne())))
	e := r.connection()
	require.Equal(t, verbs.EventEstablished, e.Type, "%v", e.Err)
	for round := range rpingRounds {
		source, sink := r.memory[1024:1024+rpingLength], r.memory[2048:2048+rpingLength]
		for i := range source[:rpingLength-1] {
			source[i] = 'A' + byte((i+round)%26) // rping writes back as far as the first zero
		}
		clear(sink)
		r.announce(1024, rpingLength)
		r.heard() // it has read
		r.announce(2048, rpingLength)
		r.heard() // it has written
		require.Equal(t, source, sink)
	}
	require.NoError(t, r.ep.Disconnect(verbs.CloseGraceful))
	require.Equal(t, verbs.EventDisconnected, r.connection().Type)
}

// TestSiwClient is the server of a client that runs on siw.
func TestSiwClient(t *testing.T) {
	at := siwAddress(t, "GORUN_TEST_SIW_CLIENT")
	r := newRping(t, at)
	_, err := r.adapter.Listen(verbs.ListenOptions{Queue: r.queue, Address: at})
	require.NoError(t, err)
	request := r.next("request", func(c *verbs.Completion) bool { return c.Stream == verbs.StreamConnectionRequest }).Event.Request
	require.NoError(t, request.Accept(r.ep, depthOne()))
	require.Equal(t, verbs.EventEstablished, r.connection().Type)
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
