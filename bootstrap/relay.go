package bootstrap

import (
	"fmt"
	"io"
	"slices"
	"sync"
)

// Relay is the agent's half of the protocol on a node whose [Server] is
// elsewhere. Frames of a rank are sent to the server one by one; a frame of the server
// arrives once and is sent to every rank of the node. The relay does not interpret frames,
// the server does; a frame that is too long to be passed on ends Serve.
type Relay struct {
	up func(rank int, frame []byte) error

	mu      sync.Mutex // guards outlets; orders the frames to the ranks
	outlets map[int]*outlet
}

// NewRelay returns the relay of some ranks of a world. up is called from the goroutines in
// Serve, in the order of each rank's frames, and may keep frame, which is to be given to
// Server.Take.
func NewRelay(ranks []int, up func(rank int, frame []byte) error) *Relay {
	r := &Relay{up: up, outlets: make(map[int]*outlet, len(ranks))}
	for _, rank := range ranks {
		r.outlets[rank] = &outlet{}
	}
	return r
}

// Serve passes on the frames of a rank until its connection ends. It returns nil
// at the end of the stream between two frames; any other end, and any error of
// up, is an error.
func (r *Relay) Serve(rank int, conn io.ReadWriter) error {
	r.mu.Lock()
	out := r.outlets[rank]
	r.mu.Unlock()
	if out == nil {
		return fmt.Errorf("bootstrap: rank %d is not one of this node", rank)
	}
	out.connect(conn)
	return readFrames(rank, conn, func(k kind, body []byte) error { return r.up(rank, slices.Insert(body, 0, byte(k))) })
}

// Tell passes whole frames of the server on to every connected rank. The relay keeps
// frames.
func (r *Relay) Tell(frames []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, out := range r.outlets {
		out.push(frames)
	}
}

// Gone says that a rank has ended and was reaped.
func (r *Relay) Gone(rank int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if out := r.outlets[rank]; out != nil {
		out.drop()
		delete(r.outlets, rank)
	}
}
