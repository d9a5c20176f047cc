package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// announcement is a message, rping's struct rping_rdma_info: where a region of the client
// is. A process that has a key can reach the memory, through a connection with an endpoint
// of the same protection domain, until it is deregistered. From the server it says only that
// the client may go on, and is zero.
type announcement struct {
	Address     uint64
	Key, Length uint32
}

// link is an endpoint and what it needs. Closing the adapter frees all of it.
type link struct {
	domain   *verbs.ProtectionDomain
	queue    *verbs.CompletionQueue // takes everything that happens to the endpoint
	endpoint *verbs.Endpoint
	message  *verbs.MemoryRegion // where the peer's next message goes
}

// newLink makes an endpoint.
func newLink(a *verbs.Adapter) (l link, err error) {
	if l.domain, err = a.NewProtectionDomain(); err != nil {
		return l, err
	}
	// Room for what can be under way at a time, a receive and three requests, and for
	// the events of a connection: an overflow would be the end of it.
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

// expect posts the memory for the peer's next message. It has to be there before the
// peer sends: on iWARP a message that finds no receive breaks the connection.
func (l *link) expect() error {
	all := l.message.Segment(0, len(l.message.Bytes()))
	return l.endpoint.PostReceive(&verbs.ReceiveRequest{Segments: []verbs.Segment{all}})
}

// announce sends a message. The receive of the answer has to be posted before.
func (l *link) announce(a announcement) error {
	message, err := binary.Append(nil, binary.BigEndian, a)
	if err := errors.Join(err, l.expect()); err != nil {
		return err
	}
	// Inline: the post copies the bytes, which need no registered memory then. The peer's
	// answer tells that it has arrived; a completion is not needed.
	return l.endpoint.Post(&verbs.WorkRequest{
		Op: verbs.OpSend, Flags: verbs.FlagInline | verbs.FlagUnsignalled, Segments: []verbs.Segment{{Data: message}},
	})
}

// hear waits for the peer's message.
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

// errEnded says that a connection has ended in order.
var errEnded = errors.New("the connection was ended")

// event in place of an opcode is an event.
const event verbs.Opcode = 0

// await waits for the next work of a kind to be done, or for an event, and passes
// over what happens before. The end of the connection is an error, errEnded when it
// came in order; so is work that failed.
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
		case c.Status != verbs.StatusSuccess && c.Status != verbs.StatusFlushed: // after those comes an event
			return c, fmt.Errorf("a work request ended with %v", c.Status)
		}
	}
}

// explain says in words what an event means that is the end of a connection or of an
// attempt.
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
		words = "what listens there is no RDMA server, or turns us away"
	default:
		words = "the connection ended: " + e.Type.String()
	}
	if e.Err == nil {
		return fmt.Errorf("%v: %s", e.Remote, words)
	}
	return fmt.Errorf("%v: %s (%w)", e.Remote, words, e.Err)
}

// pattern returns what a client announces in a round, which is what rping's does: the
// round, and characters from 'A' to 'z' that begin one further in each round, as far as a
// zero at the end.
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

// shown is what is printed of a pattern.
func shown(pattern []byte) []byte { return pattern[:min(len(pattern)-1, 32)] }
