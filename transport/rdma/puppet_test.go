package rdma_test

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// puppet is an adapter whose connections (its hands) pretend to belong to ranks and send the frames that a test
// gives them.
type puppet struct {
	testing.TB
	adapter *verbs.Adapter
	domain  *verbs.ProtectionDomain
	queue   *verbs.CompletionQueue
	// receives takes the frames that arrive at any hand.
	receives *verbs.SharedReceiveQueue
	memory   *verbs.MemoryRegion
	hands    map[*verbs.Endpoint]*hand
	batch    []verbs.Completion
	// requests is the number of work requests that a hand may have posted.
	requests int
}

// puppetReceive is the length of a receive in bytes; puppetReceives is the number of receives.
const (
	puppetReceive  = 64
	puppetReceives = 4096
)

// hand is a connection of a puppet.
type hand struct {
	*puppet
	endpoint *verbs.Endpoint
	// asked is the private data of the hand's connection request. event is the last event of the connection.
	asked []byte
	event *verbs.Event
	heard int
	// proved says that the hand has sent its first message, which carries the proof.
	proved bool
}

func newPuppet(tb testing.TB, p place, hands int) *puppet {
	tb.Helper()
	a, err := verbs.Open(p.provider, p.name)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, a.Close()) })
	u := &puppet{TB: tb, adapter: a, hands: map[*verbs.Endpoint]*hand{}, batch: make([]verbs.Completion, 64), requests: 2}
	u.domain, err = a.NewProtectionDomain()
	require.NoError(tb, err)
	u.queue, err = a.NewCompletionQueue(puppetReceives + 8*hands)
	require.NoError(tb, err)
	u.receives, err = a.NewSharedReceiveQueue(verbs.SharedReceiveConfig{Domain: u.domain, MaxReceives: puppetReceives, MaxSegments: 1})
	require.NoError(tb, err)
	u.memory, err = u.domain.Register(make([]byte, puppetReceive+1<<16), verbs.AccessLocalWrite)
	require.NoError(tb, err)
	for range puppetReceives {
		u.post()
	}
	return u
}

// post posts a receive. All receives share their memory, because no test of the puppet reads more than the first
// bytes of this memory.
func (u *puppet) post() {
	s := u.memory.Segment(0, puppetReceive)
	require.NoError(u, u.receives.PostReceive(&verbs.ReceiveRequest{Segments: []verbs.Segment{s}}))
}

// poll records the events of the hands and counts the frames that have arrived.
func (u *puppet) poll() int {
	n := u.queue.Poll(u.batch)
	for i := range u.batch[:n] {
		c := &u.batch[i]
		h := u.hands[c.Endpoint]
		switch {
		case c.Event != nil:
			h.event = c.Event
		case c.Stream == verbs.StreamReceive && c.Status == verbs.StatusSuccess:
			h.heard++
			u.post()
		}
	}
	return n
}

// credentials returns the credentials of a rank of the tests' job.
func credentials(rank, size int) negotiation.Credentials {
	return negotiation.NewCredentials([]byte("a secret of the tests"), "test", uint32(rank), uint32(size))
}

// guessing returns the credentials of a stranger who knows everything about the job except its secret.
func guessing(rank, size int) negotiation.Credentials {
	return negotiation.NewCredentials([]byte("a guess"), "test", uint32(rank), uint32(size))
}

// prove returns the first message of a connection: an update with the proof. request and reply are the private
// data with which the connection was made.
func prove(update, request, reply []byte) []byte {
	c := credentials(0, 2) // the rank does not matter: the proof depends on request and reply
	update[8] = kindProof
	return c.AppendProof(update, request, reply)
}

// request returns a record with the given attempt number.
func request(attempt uint16) negotiation.Record {
	return negotiation.Record{
		Attempt: attempt, Depths: negotiation.Depths{IRD: 4, ORD: 4}, Credits: 8, Slot: 16 << 10, Nonce: negotiation.Nonce{byte(attempt), 77},
	}
}

// dial requests a connection. The argument data is the private data of the request.
func (u *puppet) dial(to netip.AddrPort, data []byte) *hand {
	u.Helper()
	ep, err := u.adapter.NewEndpoint(verbs.EndpointConfig{
		Domain: u.domain, Receives: u.queue, Requests: u.queue, Connections: u.queue, SharedReceives: u.receives,
		Attributes: &verbs.EndpointAttributes{MaxMessage: 1 << 16, MaxRDMA: 1 << 16, MaxRequests: u.requests, MaxRequestSegments: 1, MaxReceiveSegments: 1, ReadsIn: 4, ReadsOut: 4},
	})
	require.NoError(u, err)
	h := &hand{puppet: u, endpoint: ep, asked: data}
	u.hands[ep] = h
	require.NoError(u, ep.Connect(to, verbs.ConnectOptions{
		Timeout: patience, Param: &verbs.ConnParam{PrivateData: data, ResponderResources: 4, InitiatorDepth: 4, RetryCount: 7, RNRRetryCount: 7},
	}))
	return h
}

// settle polls a rank and the puppet until done returns true.
func (u *puppet) settle(r *rank, what string, done func() bool) {
	u.Helper()
	for deadline := time.Now().Add(patience); !done(); {
		if r.poll()+u.poll() == 0 {
			require.False(u, time.Now().After(deadline), "still waiting: %s", what)
			r.sleeper.Yield()
		}
	}
}

// answer waits for the answer to the hand's request.
func (h *hand) answer(r *rank) *verbs.Event {
	h.Helper()
	h.settle(r, "an answer", func() bool { return h.event != nil })
	return h.event
}

// say sends a frame. The first frame of a hand has to be an update; say adds the proof to it.
func (h *hand) say(frame []byte) {
	h.Helper()
	if !h.proved {
		h.proved = true
		frame = prove(frame, h.asked, h.event.PrivateData)
	}
	s := h.memory.Segment(puppetReceive, len(frame))
	copy(s.Data, frame)
	require.NoError(h, h.endpoint.Post(&verbs.WorkRequest{Op: verbs.OpSend, Segments: []verbs.Segment{s}}))
}

// word returns the word at the start of every frame (package credit).
func word(sequence, ack, limit, heard uint16) uint64 {
	return uint64(sequence)<<48 | uint64(ack)<<32 | uint64(limit)<<16 | uint64(heard)
}

// frame returns a frame that consists of the word w, the kind and the body.
func frame(w uint64, kind byte, body ...byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, w)
	b = append(b, kind, 0, 0, 0, 0, 0, 0, 0)
	return append(b, body...)
}

// message returns the record of a message.
func message(a uint64, payload string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(payload)))
	b = append(b, 1, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, a)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(payload)))
	b = binary.LittleEndian.AppendUint64(b, 0)
	b = append(b, payload...)
	return append(b, make([]byte, (8-len(payload)%8)%8)...)
}

// These are the kinds of frames on the wire.
const (
	kindEager  = 1
	kindUpdate = 2
	kindBye    = 3
	kindProof  = 5

	// recordMarker and recordCheck are kinds of records.
	recordMarker = 4
	recordCheck  = 5
)
