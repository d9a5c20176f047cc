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

// puppet is an adapter with hands: connections that pretend to come from ranks and
// say what a test makes them say.
type puppet struct {
	testing.TB
	adapter *verbs.Adapter
	domain  *verbs.ProtectionDomain
	queue   *verbs.CompletionQueue
	// shared takes what is said to any hand.
	receives *verbs.SharedReceiveQueue
	memory   *verbs.MemoryRegion
	hands    map[*verbs.Endpoint]*hand
	batch    []verbs.Completion
	// requests is how many a hand may have posted.
	requests int
}

// puppetReceive is the length of a receive, puppetReceives their number.
const (
	puppetReceive  = 64
	puppetReceives = 4096
)

// hand is one connection.
type hand struct {
	*puppet
	endpoint *verbs.Endpoint
	// asked is the private data of the request, event the last that came.
	asked []byte
	event *verbs.Event
	heard int
	// proved says that the first message was said.
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

// post posts a receive. All of them share their memory: nobody looks at it.
func (u *puppet) post() {
	s := u.memory.Segment(0, puppetReceive)
	require.NoError(u, u.receives.PostReceive(&verbs.ReceiveRequest{Segments: []verbs.Segment{s}}))
}

// poll notes what has come to the hands.
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

// credentials are those of a rank of the tests' job.
func credentials(rank, size int) negotiation.Credentials {
	return negotiation.NewCredentials([]byte("a secret of the tests"), "test", uint32(rank), uint32(size))
}

// guessing are those of a stranger that knows everything but the secret.
func guessing(rank, size int) negotiation.Credentials {
	return negotiation.NewCredentials([]byte("a guess"), "test", uint32(rank), uint32(size))
}

// prove makes an update the first message of a connection that was made by request and
// reply.
func prove(update, request, reply []byte) []byte {
	c := credentials(0, 2) // no proof says more of its rank than request and reply
	update[8] = kindProof
	return c.AppendProof(update, request, reply)
}

// request is a record of a first attempt.
func request(attempt uint16) negotiation.Record {
	return negotiation.Record{
		Attempt: attempt, Depths: negotiation.Depths{IRD: 4, ORD: 4}, Credits: 8, Slot: 16 << 10, Nonce: negotiation.Nonce{byte(attempt), 77},
	}
}

// dial asks for a connection with this private data.
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

// settle polls a rank and the puppet until done says so.
func (u *puppet) settle(r *rank, what string, done func() bool) {
	u.Helper()
	for deadline := time.Now().Add(patience); !done(); {
		if r.poll()+u.poll() == 0 {
			require.False(u, time.Now().After(deadline), "still waiting: %s", what)
			r.sleeper.Yield()
		}
	}
}

// answer waits for the answer to a request.
func (h *hand) answer(r *rank) *verbs.Event {
	h.Helper()
	h.settle(r, "an answer", func() bool { return h.event != nil })
	return h.event
}

// say sends a frame as it is, but for the proof in the first one, an update.
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

// word is what every frame starts with; see package credit.
func word(sequence, ack, limit, heard uint16) uint64 {
	return uint64(sequence)<<48 | uint64(ack)<<32 | uint64(limit)<<16 | uint64(heard)
}

// frame is a frame of a kind with a body.
func frame(w uint64, kind byte, body ...byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, w)
	b = append(b, kind, 0, 0, 0, 0, 0, 0, 0)
	return append(b, body...)
}

// message is the record of a message.
func message(a uint64, payload string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(payload)))
	b = append(b, 1, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, a)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(payload)))
	b = binary.LittleEndian.AppendUint64(b, 0)
	b = append(b, payload...)
	return append(b, make([]byte, (8-len(payload)%8)%8)...)
}

// The kinds of frames on the wire.
const (
	kindEager  = 1
	kindUpdate = 2
	kindBye    = 3
	kindProof  = 5

	// recordCheck is a kind of record.
	recordCheck = 5
)
