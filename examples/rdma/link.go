package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// announcement is a message with the layout of rping's struct rping_rdma_info. The client sends the address,
// key and length of one of its regions. Until that region is deregistered, any process that has the key can
// access the region through a connection to an endpoint of the region's protection domain. With an
// announcement of zeros, the server tells the client to continue.
type announcement struct {
	Address     uint64
	Key, Length uint32
}

// link is an endpoint and the objects that it needs. The Close of the adapter frees all of them.
type link struct {
	domain   *verbs.ProtectionDomain
	queue    *verbs.CompletionQueue // takes all completions and connection events of the endpoint
	endpoint *verbs.Endpoint
	message  *verbs.MemoryRegion // memory for the peer's next message
}

// newLink makes a link, not yet connected, on an adapter.
func newLink(a *verbs.Adapter) (l link, err error) {
	if l.domain, err = a.NewProtectionDomain(); err != nil {
		return l, err
	}
	// The queue needs entries for the outstanding work, which is at most a receive and three other requests,
	// and for the events of a connection. An overflow would break the connection.
	if l.queue, err = a.NewCompletionQueue(16); err != nil {
		return l, err
	}
	l.message, err = l.domain.Register(make([]byte, binary.Size(announcement{})), verbs.AccessLocalWrite)
	if err != nil {
		return l, err
	}
	l.endpoint, err = a.NewEndpoint(verbs.EndpointConfig{
		Domain: l.domain, Receives: l.queue, Requests: l.queue, Connections: l.queue,
	})
	return l, err
}

// expect posts the receive for the peer's next message. The receive must be posted before the peer
// sends, because on iWARP a message without a posted receive breaks the connection.
func (l *link) expect() error {
	all := l.message.Segment(0, len(l.message.Bytes()))
	return l.endpoint.PostReceive(&verbs.ReceiveRequest{Segments: []verbs.Segment{all}})
}

// announce posts the receive for the peer's answer, and then sends a message.
func (l *link) announce(a announcement) error {
	message, err := binary.Append(nil, binary.BigEndian, a)
	if err := errors.Join(err, l.expect()); err != nil {
		return err
	}
	// The Send is inline: Post copies the bytes, so that they need not be in registered memory. The Send is
	// also unsignalled, because the peer's answer implies that the message has arrived.
	return l.endpoint.Post(&verbs.WorkRequest{
		Op: verbs.OpSend, Flags: verbs.FlagInline | verbs.FlagUnsignalled, Segments: []verbs.Segment{{Data: message}},
	})
}

// hear waits for the peer's next message and decodes it.
func (l *link) hear(ctx context.Context) (a announcement, err error) {
	c, err := l.await(ctx, verbs.OpReceive)
	if err != nil {
		return a, err
	}
	if c.Length != binary.Size(a) {
		return a, fmt.Errorf("a message of %d bytes, want %d", c.Length, binary.Size(a))
	}
	_, err = binary.Decode(l.message.Bytes(), binary.BigEndian, &a)
	return a, err
}

// errEnded is returned by await after an orderly disconnect.
var errEnded = errors.New("the connection was ended")

// event is the value of Completion.Op for a connection event.
const event verbs.Opcode = 0

// await waits for the next successful completion of a work request with opcode op, or for the next event if
// op is event. It discards other successful completions. It returns an error if a work request fails or if
// the connection ends. After an orderly disconnect, the error is errEnded.
func (l *link) await(ctx context.Context, op verbs.Opcode) (verbs.Completion, error) {
	for {
		if err := l.queue.Wait(ctx, 1); err != nil {
			return verbs.Completion{}, err
		}
		var one [1]verbs.Completion
		l.queue.Poll(one[:])
		c := one[0]
		if c.Event != nil {
			if err := explain(c.Event); err != nil {
				return c, err
			}
		}
		switch {
		case c.Status == verbs.StatusSuccess && c.Op == op:
			return c, nil
		case c.Status != verbs.StatusSuccess && c.Status != verbs.StatusFlushed: // an event reports why requests were flushed
			return c, fmt.Errorf("a work request ended with %v", c.Status)
		}
	}
}

// explain returns an error if an event ends a connection or a connection attempt. The error describes the
// event. For other events, explain returns nil.
func explain(e *verbs.Event) error {
	var words string
	switch {
	case e.Type == verbs.EventConnectionRequest || e.Type == verbs.EventEstablished:
		return nil
	case e.Type == verbs.EventDisconnected:
		return errEnded
	case e.Type == verbs.EventPeerRejected:
		return fmt.Errorf("the server at %v refuses: %s", e.Remote, e.PrivateData)
	case errors.Is(e.Err, syscall.ECONNREFUSED):
		words = "nothing listens there: is the server running, and is it this port?"
	case e.Type == verbs.EventUnreachable:
		words = "not reached: is the address right, and do packets pass?"
	case e.Type == verbs.EventTimedOut:
		words = "connected, but no answer: another program's port, or a busy server?"
	case e.Type == verbs.EventNonPeerRejected:
		words = "what listens there is no RDMA server, or rejects the connection"
	default:
		words = "the connection ended: " + e.Type.String()
	}
	if e.Err == nil {
		return fmt.Errorf("%v: %s", e.Remote, words)
	}
	return fmt.Errorf("%v: %s (%w)", e.Remote, words, e.Err)
}

// pattern returns the n bytes of the region that a client offers in a round. These bytes are the same as
// rping's. A text with the number of the round comes first. The characters from 'A' to 'z' follow in a
// cycle, which begins one character later in each round. The last byte is zero.
func pattern(n, round uint32) []byte {
	const first, characters = 'A', 'z' - 'A' + 1
	text := []byte(fmt.Sprintf("rdma-ping-%d: ", round))
	for c := round; uint32(len(text)) < n; c++ {
		text = append(text, byte(first+c%characters))
	}
	text = text[:n]
	text[n-1] = 0
	return text
}

// shown returns the beginning of a pattern, at most 32 bytes, for printing.
func shown(pattern []byte) []byte { return pattern[:min(len(pattern)-1, 32)] }
