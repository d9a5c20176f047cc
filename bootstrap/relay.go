package bootstrap

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// Relay is the agent's half of the protocol on a node whose [Server] is in another process. The relay gathers
// the cards of its ranks, and sends them to the server together. It does the same with the votes of its ranks
// in an agreement. It passes on the other frames of its ranks one by one. The server sends each frame to the
// relay once, and the relay passes it on to all ranks of the node. The relay itself acts on two kinds of
// frames of the server. It puts the book of a packed frame on the node's shelf. For a renew frame, it calls
// the function of OnRenewal. Serve returns an error if a rank sends a frame that is longer than rankFrameMax.
type Relay struct {
	up func(rank int, frame []byte) error

	mu      sync.Mutex // guards outlets, shelf and books; orders the frames to the ranks
	size    int        // number of ranks of the world
	outlets map[int]*outlet
	shelf   *Shelf // nil for none
	books   uint32 // number of books that have arrived in this generation
	renewal func(plan []byte) error

	gathering sync.Mutex      // guards the fields below; held during calls of up
	waiting   map[int]bool    // ranks that have not sent their card
	cards     map[int][]byte  // gathered cards that have not been sent yet
	timer     *time.Timer     // sends the gathered cards; nil if there are none
	local     map[int]bool    // ranks that have neither ended nor left the job
	polls     map[round]*poll // incomplete polls
	// stale has the ranks that have not rejoined since the last call of Renew, which began the generation.
	stale      map[int]bool
	generation int
}

// gatherDelay is how long the first gathered card waits for the cards of the other ranks of the node. The
// time is short, so that the server soon learns which ranks have joined, even if another rank is late.
const gatherDelay = 100 * time.Millisecond

// NewRelay returns the relay of the given ranks of a world of size ranks. Calls of up are serialized and keep the
// order of each rank's frames, except that a vote may come later (see count). up owns frame, and must deliver it to
// Server.Take.
func NewRelay(size int, ranks []int, up func(rank int, frame []byte) error) *Relay {
	r := &Relay{size: size, up: up, outlets: make(map[int]*outlet, len(ranks)), waiting: make(map[int]bool, len(ranks)), cards: map[int][]byte{}, local: make(map[int]bool, len(ranks)), polls: map[round]*poll{}}
	for _, rank := range ranks {
		r.outlets[rank] = &outlet{}
		r.waiting[rank], r.local[rank] = true, true
	}
	return r
}

// Shelve sets the shelf on which the relay puts the book. Shelve must be called before the first call of
// Serve.
func (r *Relay) Shelve(shelf *Shelf) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shelf = shelf
}

// Serve passes on the frames of a rank until its connection ends or an error occurs, for example in up. It
// returns nil if the stream ends between two frames, otherwise an error.
func (r *Relay) Serve(rank int, conn io.ReadWriter) error {
	r.mu.Lock()
	out := r.outlets[rank]
	r.mu.Unlock()
	if out == nil {
		return fmt.Errorf("bootstrap: rank %d is not one of this node", rank)
	}
	out.connect(conn)
	return readFrames(rank, conn, func(k kind, body []byte) error { return r.take(rank, k, body) })
}

// take acts on one frame of a rank. It gathers a card or a vote. It passes any other frame on, after it has
// sent the cards that were gathered before.
func (r *Relay) take(rank int, k kind, body []byte) error {
	r.gathering.Lock()
	defer r.gathering.Unlock()
	switch {
	case k == kindCards || k == kindPoll:
		return fmt.Errorf("bootstrap: frame of kind %d of other ranks: %w", k, ErrMalformed)
	case r.outdated(rank, k, body):
		return nil
	}
	if k == kindCard && r.waiting[rank] && isCardOf(rank, body) {
		delete(r.waiting, rank)
		r.cards[rank] = body
		if len(r.waiting) == 0 {
			return r.flush()
		}
		if r.timer == nil {
			r.timer = time.AfterFunc(gatherDelay, func() {
				r.gathering.Lock()
				defer r.gathering.Unlock()
				_ = r.flush() // after an error, sending the next frame fails, too
			})
		}
		return nil
	}
	if err := r.flush(); err != nil {
		return err
	}
	switch k {
	case kindVote:
		return r.vote(rank, body)
	case kindFinalize:
		delete(r.local, rank)
		if err := r.count(rank); err != nil {
			return err
		}
	default:
	}
	return r.up(rank, slices.Insert(body, 0, byte(k)))
}

// isCardOf reports whether a body is a well-formed card of a rank. The relay passes a card frame with any
// other body on to the server, because the server reports the error.
func isCardOf(rank int, body []byte) bool {
	c, n, err := ParseCard(body)
	return err == nil && n == len(body) && c.Rank == rank
}

// flush sends the gathered cards to the server. Callers hold gathering.
func (r *Relay) flush() error {
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	ranks := make([]int, 0, len(r.cards))
	for rank := range r.cards {
		ranks = append(ranks, rank)
	}
	slices.Sort(ranks)
	cards := make([][]byte, len(ranks))
	for i, rank := range ranks {
		cards[i] = r.cards[rank]
	}
	clear(r.cards)
	switch len(ranks) {
	case 0:
		return nil
	case 1:
		return r.up(ranks[0], slices.Insert(cards[0], 0, byte(kindCard)))
	}
	packed, err := packCards(cards)
	if err != nil {
		return err
	}
	return r.up(ranks[0], slices.Insert(packed, 0, byte(kindCards)))
}

// Tell passes a whole frame of the server on to all ranks of the node. In place of a packed book, it passes on
// the frame that bookFrame returns. It does not pass on a renewal, but calls the function of OnRenewal. The
// relay keeps the frame, which must not be changed. Tell returns an error for a packed book that is malformed
// or is not the expected book. For a renewal, Tell returns an error if OnRenewal was not called or if the
// function of OnRenewal fails.
func (r *Relay) Tell(frame []byte) error {
	if len(frame) >= frameHeader && kind(frame[frameHeader-1]) == kindRenew {
		if r.renewal == nil {
			return fmt.Errorf("bootstrap: renewal of a job that has none: %w", ErrMalformed)
		}
		return r.renewal(frame[frameHeader:])
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(frame) >= frameHeader && kind(frame[frameHeader-1]) == kindPacked {
		book, err := unpackBook(frame[frameHeader:], r.books, r.size)
		if err != nil {
			return err
		}
		r.books++
		frame = bookFrame(r.shelf, book)
	}
	for _, out := range r.outlets {
		out.push(frame)
	}
	return nil
}

// Gone records that a rank has ended and was reaped. Gone first sends the gathered cards if the rank's card is
// among them, or if no other card of the node is missing. It also sends the polls that are complete without
// the rank, and the polls that have its vote. So the vote counts, as it does on the node of the server.
func (r *Relay) Gone(rank int) {
	r.gathering.Lock()
	delete(r.waiting, rank)
	if _, gathered := r.cards[rank]; gathered || len(r.waiting) == 0 {
		// The gathered cards are sent first, because no frame of the rank may follow the report of its end.
		// The error of flush is ignored: flush fails if the connection to the server is lost, and the agent
		// notices this loss itself.
		_ = r.flush()
	}
	delete(r.local, rank)
	_ = r.count(rank)
	r.gathering.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if out := r.outlets[rank]; out != nil {
		out.drop()
		delete(r.outlets, rank)
	}
}
