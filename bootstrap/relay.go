package bootstrap

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// Relay is the agent's half of the protocol on a node whose [Server] is
// elsewhere. The cards of the ranks are gathered and sent to the server together, other
// frames one by one; a frame of the server arrives once and is sent to every rank of the
// node. Of these the relay looks at the book alone, which it puts on the node's shelf. A
// frame that is too long to be passed on ends Serve.
type Relay struct {
	up func(rank int, frame []byte) error

	mu      sync.Mutex // guards what follows; orders the frames to the ranks
	size    int        // of the world
	outlets map[int]*outlet
	shelf   *Shelf // nil for none
	books   uint32 // that have arrived
	renewal func(plan []byte) error

	gathering sync.Mutex     // guards what follows; held while frames go up
	waiting   map[int]bool   // ranks without a card
	cards     map[int][]byte // not sent yet
	timer     *time.Timer    // sends them, nil if there are none
	local     map[int]bool   // ranks that have neither ended nor left
	polls     map[round]*poll
	// stale are the ranks that have not rejoined since the last Renew, which has begun the generation.
	stale      map[int]bool
	generation int
}

// gatherDelay is how long a card waits for those of the other ranks of the node. A rank that
// comes later holds up no report about those that are there.
const gatherDelay = 100 * time.Millisecond

// NewRelay returns the relay of some ranks of a world of size ranks. up is called by one goroutine at a
// time, in the order of each rank's frames, and may keep frame, which is to be given to
// Server.Take.
func NewRelay(size int, ranks []int, up func(rank int, frame []byte) error) *Relay {
	r := &Relay{size: size, up: up, outlets: make(map[int]*outlet, len(ranks)), waiting: make(map[int]bool, len(ranks)), cards: map[int][]byte{}, local: make(map[int]bool, len(ranks)), polls: map[round]*poll{}}
	for _, rank := range ranks {
		r.outlets[rank] = &outlet{}
		r.waiting[rank], r.local[rank] = true, true
	}
	return r
}

// Shelve sets where the book is put. It is called before the first rank is served.
func (r *Relay) Shelve(shelf *Shelf) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shelf = shelf
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
	return readFrames(rank, conn, func(k kind, body []byte) error { return r.take(rank, k, body) })
}

// take gathers a card, or passes another frame on after those that were gathered.
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
				_ = r.flush() // the next frame has the same error
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

// isCardOf reports whether a body is the card of a rank; the server says what is wrong with
// others.
func isCardOf(rank int, body []byte) bool {
	c, n, err := ParseCard(body)
	return err == nil && n == len(body) && c.Rank == rank
}

// flush sends the cards that were gathered. Callers hold gathering.
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

// Tell passes a whole frame of the server on to every connected rank. The relay keeps
// it. An error means that the book did not arrive as it was sent, or cannot be kept.
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

// Gone says that a rank has ended and was reaped.
func (r *Relay) Gone(rank int) {
	r.gathering.Lock()
	delete(r.waiting, rank)
	if _, gathered := r.cards[rank]; gathered || len(r.waiting) == 0 {
		_ = r.flush() // the link is lost, and the agent hears of it; nothing of the rank follows its end
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
